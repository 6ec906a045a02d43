"""What an ensemble would be, over REST: candidates, the way to the members, and figures; nothing is stored; api."""

from __future__ import annotations

import threading

from fastapi import APIRouter, HTTPException

from api.auth import viewer
from api.ensemble_figures import FiguresView
from api.ensembles import trials_of
from api.service import ServiceContext, context
from api.views import View
from ensemble.building import Builder
from ensemble.degradation import Scores
from ensemble.preview import Preview, preview
from ensemble.spec import EnsembleRequest

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
WAIT_S = 20.0
_one_at_a_time = threading.Lock()  # each reads and sums the predictions of up to a hundred trials


class ContenderView(View):
    """A trial that could be chosen; `weight` 0 where it is not, `scores` on validation where it left predictions."""

    trial_id: int
    number: int
    sweep_id: int
    value: float | None
    weight: float
    scores: Scores | None


class StepView(View):
    """The ensemble after one more choice; `inside` is false where it goes on beyond what was asked for."""

    trial_id: int
    number: int
    members: int
    inside: bool
    validation: Scores
    calibration: Scores | None


class PreviewView(View):
    """What `POST /ensembles` would build of the same body.

    `figures` are on calibration rows, or on validation with a flag that says so, never on test. Where there are none,
    `unknown` says why.
    """

    task: str
    goal: str
    classes: list[str]
    quorum: int
    note: str
    candidates: int
    contenders: list[ContenderView]
    path: list[StepView]
    member_ids: list[int]
    weights: list[float]
    temperature: float
    figures: FiguresView | None
    rows_there: int
    unknown: str

    @classmethod
    def of(cls, found: Preview) -> PreviewView:
        decision = found.decision
        figures = None if found.evaluation is None else FiguresView.model_validate(found.evaluation.to_dict())
        return cls(
            task=decision.architecture.task.value,
            goal=decision.members[0].goal,
            classes=list(decision.architecture.classes),
            quorum=decision.quorum,
            note=decision.chosen.note,
            candidates=len(decision.usable),
            contenders=[ContenderView.model_validate(one) for one in found.contenders],
            path=[StepView.model_validate(step) for step in found.path],
            member_ids=[member.trial_id for member in decision.members],
            weights=list(decision.combination.weights),
            temperature=decision.combination.temperature,
            figures=figures,
            rows_there=found.rows_there,
            unknown=found.unknown,
        )


@router.post("/preview", dependencies=[viewer])
def preview_ensemble(body: EnsembleRequest, service: ServiceContext = context) -> PreviewView:
    """What would be built of this request, and how good it is on rows that are at hand; nothing is created."""
    trials = trials_of(body, service)
    if not _one_at_a_time.acquire(timeout=WAIT_S):
        raise HTTPException(429, "other previews are under way; try again in some seconds")
    try:
        return PreviewView.of(preview(Builder(service.settings.data), body, trials))
    finally:
        _one_at_a_time.release()
