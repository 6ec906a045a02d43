"""The api application: routers, errors, and the order in which a request meets them; api."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI

from podium.api.http import problem_details, route_roles
from podium.api.http.authenticate_first import Identified
from podium.api.http.authentication import Doorkeeper
from podium.api.http.body_schema import describe_models
from podium.api.http.host_names import HostNames
from podium.api.http.problem_schema import RESPONSES
from podium.api.http.request_guard import Guarded
from podium.api.http.route_context import BodyLimit, ServiceContext
from podium.api.rest import health_routes, schema_routes
from podium.api.rest.access import session_routes, token_routes
from podium.api.rest.dashboard_files import StaticFiles
from podium.api.rest.devices import device_routes, timeline_routes
from podium.api.rest.ensembles import (
    ensemble_preview_routes,
    ensemble_routes,
    ensemble_sample_routes,
    prediction_routes,
)
from podium.api.rest.stream import event_routes
from podium.api.rest.sweeps import (
    chart_routes,
    export_routes,
    import_routes,
    importance_routes,
    provenance_routes,
    sweep_file_routes,
    sweep_routes,
)
from podium.api.rest.sweeps.importance_process import Analyst
from podium.api.rest.trials import trial_download_routes, trial_routes, trial_table_routes
from podium.db.schema.engine import Database
from podium.sweep.runtime.settings import ServiceSettings


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
    app.state.feed = event_routes.feed_of(app.state.service)
    problem_details.install(app)
    app.add_middleware(BodyLimit, own=("/bundles", "/sweeps/import", "/predict", "/evaluate", "/infer"))
    app.add_middleware(Identified, asking=("/v2/",))
    for noun in (
        health_routes,
        schema_routes,
        session_routes,
        token_routes,
        sweep_routes,
        trial_table_routes,
        sweep_file_routes,
        provenance_routes,
        export_routes,
        import_routes,
        trial_routes,
        chart_routes,
        importance_routes,
        trial_download_routes,
        device_routes,
        timeline_routes,
        ensemble_routes,
        ensemble_preview_routes,
        ensemble_sample_routes,
        event_routes,
    ):
        app.include_router(noun.router)
    describe_models(app)
    app.include_router(prediction_routes.predictions)
    app.include_router(prediction_routes.inference)
    route_roles.check(app.routes)
    app.router.default = StaticFiles()  # what no route knows
    return app
