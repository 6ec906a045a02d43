"""The typed answers of the client have the fields of the documented models of the REST API."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from podium.api.client import answers
from podium.api.rest.access.session_routes import LoginLinkView
from podium.api.rest.access.token_routes import NewTokenView, TokenView
from podium.api.rest.ensembles import ensemble_schemas as ensembles
from podium.api.rest.ensembles.prediction_schemas import MemberPartView, PredictionView
from podium.api.rest.ensembles.score_schemas import ResultView
from podium.api.rest.schemas import device_schemas, sweep_schemas, trial_schemas
from podium.ensemble.scoring.calibration_error import ReliabilityBin
from podium.ensemble.scoring.comparison import McNemar
from podium.ensemble.scoring.degradation import Degradation, SizeScores, SubsetScores

PAIRS: list[tuple[Any, Any]] = [
    (answers.BestTrialInfo, sweep_schemas.BestView),
    (answers.WarmStartInfo, sweep_schemas.WarmStartView),
    (answers.SpendingInfo, sweep_schemas.SpendingView),
    (answers.PlateauInfo, sweep_schemas.PlateauView),
    (answers.TargetInfo, sweep_schemas.TargetView),
    (answers.BudgetInfo, sweep_schemas.BudgetView),
    (answers.WarningInfo, sweep_schemas.WarningView),
    (answers.ProvenanceInfo, sweep_schemas.ProvenanceView),
    (answers.SweepInfo, sweep_schemas.SweepView),
    (answers.TrialInfo, trial_schemas.TrialView),
    (answers.TrialDetails, trial_schemas.TrialDetail),
    (answers.AttemptInfo, trial_schemas.AttemptView),
    (answers.ArtifactInfo, trial_schemas.ArtifactView),
    (answers.EnqueuedInfo, trial_schemas.EnqueuedView),
    (answers.RunningTrialInfo, device_schemas.RunningView),
    (answers.PlacedMemberInfo, device_schemas.PlacedMemberView),
    (answers.DeviceInfo, device_schemas.DeviceView),
    (answers.ReplicaInfo, ensembles.ReplicaView),
    (answers.MemberInfo, ensembles.MemberView),
    (answers.VersionInfo, ensembles.VersionView),
    (answers.SelectionStep, ensembles.ChoiceView),
    (answers.SelectionInfo, ensembles.SelectionView),
    (answers.EnsembleInfo, ensembles.EnsembleView),
    (answers.EvaluationInfo, ensembles.EvaluationView),
    (answers.EvaluationResult, ResultView),
    (answers.ReliabilityBin, ReliabilityBin),
    (answers.McNemarTest, McNemar),
    (answers.DegradationInfo, Degradation),
    (answers.SizeScores, SizeScores),
    (answers.SubsetScores, SubsetScores),
    (answers.Prediction, PredictionView),
    (answers.MemberAnswer, MemberPartView),
    (answers.TokenInfo, TokenView),
    (answers.NewTokenInfo, NewTokenView),
    (answers.LoginLink, LoginLinkView),
]


@pytest.mark.parametrize(("answer", "model"), PAIRS, ids=[answer.__name__ for answer, _ in PAIRS])
def test_answer_has_the_fields_of_its_model(answer: Any, model: Any) -> None:
    if isinstance(model, type) and issubclass(model, BaseModel):
        fields, required = set(model.model_fields), {n for n, f in model.model_fields.items() if f.is_required()}
    else:
        fields = required = {field.name for field in dataclasses.fields(model)}
    assert answer.__required_keys__ | answer.__optional_keys__ == fields
    assert answer.__required_keys__ >= required
