"""The table of all routers of the REST API, in the order in which paths are matched; api.

Everything else is derived from the routes: roles and public paths (`podium.api.http.route_roles`), routes with
their own body limit, the OpenAPI document. A test checks that every module named `*_routes` is listed here.
"""

from __future__ import annotations

from fastapi import APIRouter

from podium.api.rest import health_routes, leader_and_standby_routes, quick_search_routes, schema_routes
from podium.api.rest.access import session_routes, token_routes
from podium.api.rest.devices import device_resource_usage_routes, device_routes, node_routes, timeline_routes
from podium.api.rest.ensembles import (
    drift_routes,
    ensemble_preview_routes,
    ensemble_routes,
    evaluation_routes,
    prediction_proxy_routes,
    sample_row_routes,
    traffic_and_event_routes,
    version_difference_routes,
)
from podium.api.rest.stream import event_routes
from podium.api.rest.sweeps import (
    chart_routes,
    comparison_routes,
    export_routes,
    failure_routes,
    importance_routes,
    installed_package_routes,
    multi_metric_curve_routes,
    population_schedule_routes,
    saved_view_routes,
    study_import_routes,
    sweep_file_routes,
    sweep_metadata_routes,
    sweep_routes,
    trial_timeline_routes,
)
from podium.api.rest.trials import (
    numbered_trial_routes,
    trial_download_routes,
    trial_file_preview_routes,
    trial_resource_usage_routes,
    trial_routes,
    trial_table_routes,
)

ROUTERS: tuple[APIRouter, ...] = (
    health_routes.router,
    schema_routes.router,
    session_routes.router,
    token_routes.router,
    quick_search_routes.router,
    leader_and_standby_routes.router,
    sweep_routes.router,
    sweep_metadata_routes.router,
    saved_view_routes.router,
    trial_table_routes.router,
    sweep_file_routes.router,
    installed_package_routes.router,
    export_routes.router,
    failure_routes.router,
    study_import_routes.router,
    numbered_trial_routes.router,
    trial_routes.router,
    chart_routes.router,
    multi_metric_curve_routes.router,
    trial_timeline_routes.router,
    comparison_routes.router,
    importance_routes.router,
    population_schedule_routes.router,
    trial_download_routes.router,
    trial_file_preview_routes.router,
    trial_resource_usage_routes.router,
    device_routes.router,
    node_routes.router,
    timeline_routes.router,
    device_resource_usage_routes.router,
    ensemble_routes.router,
    traffic_and_event_routes.router,
    drift_routes.router,
    version_difference_routes.router,
    ensemble_preview_routes.router,
    sample_row_routes.router,
    evaluation_routes.router,
    event_routes.router,
    prediction_proxy_routes.router,
    prediction_proxy_routes.inference,  # matches every path below /v2
)
