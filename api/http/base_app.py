"""The app that api and gateway share: guard, authenticator, body limits and problem responses, before any route."""

from __future__ import annotations

from typing import Any

from podium.api.http import problem_details
from podium.api.http.allowed_host_names import HostNames
from podium.api.http.authentication import Authenticator
from podium.api.http.browser_security_middleware import GuardedApp
from podium.api.http.request_body import IncomingBodies
from podium.api.http.request_limits import RequestLimits
from podium.api.http.service_context import ServiceContext
from podium.db.schema.database import Database
from podium.sweep.runtime.service_settings import ServiceSettings


def service_app(settings: ServiceSettings, database: Database, **options: Any) -> GuardedApp:
    """An app without routes; `options` are FastAPI's. Its state: `service`, `authenticator`, and limits."""
    app = GuardedApp(**options, docs_url=None, redoc_url=None)  # these pages load scripts from other hosts
    app.allowed_host_names = HostNames(settings.allowed_hosts)
    app.state.service = ServiceContext(settings, database)
    app.state.authenticator = Authenticator(database, settings.session_cookie)
    app.state.incoming_bodies = IncomingBodies()
    app.state.request_limits = RequestLimits()
    problem_details.install(app)
    return app
