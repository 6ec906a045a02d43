"""The typed answers of the client have the fields of the documented models of the REST API."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from podium.api.client import answers
from podium.api.rest.access.session_routes import LoginLinkView
from podium.api.rest.access.token_routes import NewTokenView, TokenView
from podium.api.rest.ensembles import ensemble_models as ensembles
from podium.api.rest.ensembles.ensemble_metrics import ResultView
from podium.api.rest.ensembles.prediction_schema import MemberPartView, PredictionView
from podium.api.rest.models import response_models as models
from podium.ensemble.scoring.calibration_error import ReliabilityBin
from podium.ensemble.scoring.comparison import McNemar
from podium.ensemble.scoring.degradation import Degradation, SizeScores, SubsetScores

PAIRS: list[tuple[Any, Any]] = [
    (answers.BestTrialInfo, models.BestView),
    (answers.WarmStartInfo, models.WarmStartView),
    (answers.SpendingInfo, models.SpendingView),
    (answers.PlateauInfo, models.PlateauView),
    (answers.TargetInfo, models.TargetView),
    (answers.BudgetInfo, models.BudgetView),
    (answers.WarningInfo, models.WarningView),
    (answers.ProvenanceInfo, models.ProvenanceView),
    (answers.SweepInfo, models.SweepView),
    (answers.TrialInfo, models.TrialView),
    (answers.TrialDetails, models.TrialDetail),
    (answers.AttemptInfo, models.AttemptView),
    (answers.ArtifactInfo, models.ArtifactView),
    (answers.EnqueuedInfo, models.EnqueuedView),
    (answers.RunningTrialInfo, models.RunningView),
    (answers.PlacedMemberInfo, models.PlacedMemberView),
    (answers.DeviceInfo, models.DeviceView),
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
