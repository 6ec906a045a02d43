"""Creates the app of the api process: state, middleware, routers and the dashboard's files; api."""

from __future__ import annotations

from fastapi import FastAPI

import podium
from podium.api.http import route_roles
from podium.api.http.authenticate_first import AuthenticateFirst
from podium.api.http.base_app import service_app
from podium.api.http.openapi_bodies import describe_models
from podium.api.http.openapi_problem_responses import RESPONSES, description_of_problems
from podium.api.http.openapi_roles import describe_roles
from podium.api.http.request_body import BodyLimit
from podium.api.rest.dashboard_files import DashboardFiles
from podium.api.rest.ensembles.ensemble_preview_routes import PreviewQueue
from podium.api.rest.routers import ROUTERS
from podium.api.rest.stream.event_routes import feed_of
from podium.api.rest.sweeps.importance_process import ImportanceQueue
from podium.db.schema.database import Database
from podium.sweep.runtime.service_settings import ServiceSettings


def create_app(settings: ServiceSettings, database: Database) -> FastAPI:
    """The REST API on the database of one service. Raises `RuntimeError` if a route declares no role."""
    app = service_app(
        settings,
        database,
        title="Podium",
        version=podium.__version__,
        summary="Hyperparameter sweeps and ensembles: one neural network per device.",
        description=description_of_problems(),
        responses=RESPONSES,
    )
    app.state.importances = ImportanceQueue(database)
    app.state.previews = PreviewQueue()
    app.state.feed = feed_of(app.state.service)
    for router in ROUTERS:
        app.include_router(router)
    route_roles.check(app.routes)
    describe_models(app)
    describe_roles(app)
    app.router.default = DashboardFiles()  # for paths that no route matches
    exempt = route_roles.own_body_patterns(app.routes)
    app.add_middleware(BodyLimit, incoming=app.state.incoming_bodies, exempt=exempt)
    public = route_roles.public_paths(app.routes)
    app.add_middleware(AuthenticateFirst, public=public, own_errors=("/v2/",))
    return app
