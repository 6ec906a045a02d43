"""The api application: routers, errors, and the order in which a request meets them; api."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI

from api import (
    charts,
    declared_roles,
    devices,
    ensemble_previews,
    ensemble_samples,
    ensembles,
    events,
    exports,
    forwarding,
    health,
    importances,
    imports,
    problems,
    provenance,
    schemas,
    session,
    sweep_files,
    sweeps,
    timeline,
    tokens,
    trial_downloads,
    trial_table,
    trials,
)
from api.analyst import Analyst
from api.auth import Doorkeeper
from api.body_schema import describe_models
from api.guard import Guarded
from api.host_names import HostNames
from api.identified import Identified
from api.problem_schema import RESPONSES
from api.service import BodyLimit, ServiceContext
from api.static_files import StaticFiles
from db.engine import Database
from sweep.settings import ServiceSettings


def create_app(settings: ServiceSettings, database: Database) -> FastAPI:
    """The whole REST API on one service's database."""
    app = Guarded(
        title="Podium",
        version=version("podium"),
        summary="Hyperparameter sweeps and ensembles: one neural network per device.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        responses=RESPONSES,
    )
    app.state.service = ServiceContext(settings, database)
    app.state.doorkeeper = Doorkeeper(database, settings.session_cookie)
    app.host_names = HostNames(settings.allowed_hosts)
    app.state.analyst = Analyst(database)
    app.state.feed = events.feed_of(app.state.service)
    problems.install(app)
    app.add_middleware(BodyLimit, own=("/bundles", "/sweeps/import", "/predict", "/evaluate", "/infer"))
    app.add_middleware(Identified, asking=("/v2/",))
    for noun in (
        health,
        schemas,
        session,
        tokens,
        sweeps,
        trial_table,
        sweep_files,
        provenance,
        exports,
        imports,
        trials,
        charts,
        importances,
        trial_downloads,
        devices,
        timeline,
        ensembles,
        ensemble_previews,
        ensemble_samples,
        events,
    ):
        app.include_router(noun.router)
    describe_models(app)
    app.include_router(forwarding.predictions)
    app.include_router(forwarding.inference)
    declared_roles.check(app.routes)
    app.router.default = StaticFiles()  # what no route knows
    return app
