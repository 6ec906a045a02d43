"""The response types of the client have the fields of the documented models of the REST API."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from podium.api.client import (
    device_responses,
    ensemble_responses,
    ensemble_traffic_and_drift_responses,
    multi_metric_curve_responses,
    node_responses,
    sweep_organization_responses,
    sweep_responses,
    token_responses,
    trial_responses,
)
from podium.api.rest.access.session_routes import LoginLinkView
from podium.api.rest.access.token_routes import NewTokenView, TokenView
from podium.api.rest.devices.node_routes import NodeView, RemovedNodeView
from podium.api.rest.ensembles import drift_routes, traffic_and_event_routes
from podium.api.rest.ensembles import ensemble_schemas as ensembles
from podium.api.rest.ensembles.prediction_openapi_schemas import MemberPartView, PredictionView
from podium.api.rest.ensembles.score_schemas import ResultView
from podium.api.rest.quick_search_routes import FoundView
from podium.api.rest.schemas import device_schemas, sweep_schemas, trial_schemas
from podium.api.rest.sweeps import failure_routes
from podium.api.rest.sweeps import multi_metric_curve_routes as multi_metric_curve_routes
from podium.api.rest.sweeps.comparison_routes import HistoryView, ImprovementView, JoinedTrialView
from podium.api.rest.sweeps.saved_view_routes import SavedViewView
from podium.api.rest.sweeps.sweep_metadata_routes import ProjectView
from podium.api.rest.trials.trial_file_preview_routes import LoggedImageView
from podium.ensemble.scoring.calibration_error import ReliabilityBin
from podium.ensemble.scoring.missing_members_and_quorum import Degradation, SizeScores, SubsetScores
from podium.ensemble.scoring.predictor_comparison import McNemar

PAIRS: list[tuple[Any, Any]] = [
    (ensemble_traffic_and_drift_responses.TrafficPoint, traffic_and_event_routes.TrafficPointView),
    (ensemble_traffic_and_drift_responses.TrafficInfo, traffic_and_event_routes.TrafficView),
    (ensemble_traffic_and_drift_responses.EnsembleEvent, traffic_and_event_routes.EnsembleEventView),
    (ensemble_traffic_and_drift_responses.FeatureDriftInfo, drift_routes.FeatureDriftView),
    (ensemble_traffic_and_drift_responses.DriftInfo, drift_routes.DriftView),
    (multi_metric_curve_responses.MetricNameInfo, multi_metric_curve_routes.MetricNameView),
    (multi_metric_curve_responses.CurveGridInfo, multi_metric_curve_routes.CurveGridView),
    (multi_metric_curve_responses.ShownTrialInfo, multi_metric_curve_routes.ShownTrialView),
    (multi_metric_curve_responses.PanelInfo, multi_metric_curve_routes.PanelView),
    (multi_metric_curve_responses.LineInfo, multi_metric_curve_routes.LineView),
    (multi_metric_curve_responses.BandInfo, multi_metric_curve_routes.BandView),
    (multi_metric_curve_responses.MarkInfo, multi_metric_curve_routes.MarkView),
    (sweep_responses.BestTrialInfo, sweep_schemas.BestView),
    (sweep_responses.WarmStartInfo, sweep_schemas.WarmStartView),
    (sweep_responses.SpendingInfo, sweep_schemas.SpendingView),
    (sweep_responses.PlateauInfo, sweep_schemas.PlateauView),
    (sweep_responses.TargetInfo, sweep_schemas.TargetView),
    (sweep_responses.BudgetInfo, sweep_schemas.BudgetView),
    (sweep_responses.WarningInfo, sweep_schemas.WarningView),
    (sweep_responses.ProvenanceInfo, sweep_schemas.ProvenanceView),
    (sweep_responses.FailureGroupInfo, failure_routes.FailureGroupView),
    (sweep_responses.FailuresInfo, failure_routes.FailuresView),
    (sweep_responses.SweepInfo, sweep_schemas.SweepView),
    (sweep_organization_responses.ImprovementInfo, ImprovementView),
    (sweep_organization_responses.HistoryInfo, HistoryView),
    (sweep_organization_responses.JoinedTrialInfo, JoinedTrialView),
    (sweep_organization_responses.ProjectInfo, ProjectView),
    (sweep_organization_responses.SavedViewInfo, SavedViewView),
    (sweep_organization_responses.FoundInfo, FoundView),
    (trial_responses.LoggedImageInfo, LoggedImageView),
    (trial_responses.TrialInfo, trial_schemas.TrialView),
    (trial_responses.TrialDetails, trial_schemas.TrialDetail),
    (trial_responses.AttemptInfo, trial_schemas.AttemptView),
    (trial_responses.ArtifactInfo, trial_schemas.ArtifactView),
    (trial_responses.EnqueuedInfo, trial_schemas.EnqueuedView),
    (device_responses.RunningTrialInfo, device_schemas.RunningView),
    (device_responses.PlacedMemberInfo, device_schemas.PlacedMemberView),
    (device_responses.DeviceInfo, device_schemas.DeviceView),
    (node_responses.NodeInfo, NodeView),
    (node_responses.RemovedNodeInfo, RemovedNodeView),
    (ensemble_responses.ReplicaInfo, ensembles.ReplicaView),
    (ensemble_responses.MemberInfo, ensembles.MemberView),
    (ensemble_responses.VersionInfo, ensembles.VersionView),
    (ensemble_responses.SelectionStep, ensembles.ChoiceView),
    (ensemble_responses.SelectionInfo, ensembles.SelectionView),
    (ensemble_responses.EnsembleInfo, ensembles.EnsembleView),
    (ensemble_responses.EvaluationInfo, ensembles.EvaluationView),
    (ensemble_responses.EvaluationResult, ResultView),
    (ensemble_responses.ReliabilityBin, ReliabilityBin),
    (ensemble_responses.McNemarTest, McNemar),
    (ensemble_responses.DegradationInfo, Degradation),
    (ensemble_responses.SizeScores, SizeScores),
    (ensemble_responses.SubsetScores, SubsetScores),
    (ensemble_responses.Prediction, PredictionView),
    (ensemble_responses.MemberAnswer, MemberPartView),
    (token_responses.TokenInfo, TokenView),
    (token_responses.NewTokenInfo, NewTokenView),
    (token_responses.LoginLink, LoginLinkView),
]


@pytest.mark.parametrize(("response", "model"), PAIRS, ids=[response.__name__ for response, _ in PAIRS])
def test_response_has_the_fields_of_its_model(response: Any, model: Any) -> None:
    if isinstance(model, type) and issubclass(model, BaseModel):
        fields, required = set(model.model_fields), {n for n, f in model.model_fields.items() if f.is_required()}
    else:
        fields = required = {field.name for field in dataclasses.fields(model)}
    assert response.__required_keys__ | response.__optional_keys__ == fields
    assert response.__required_keys__ >= required
