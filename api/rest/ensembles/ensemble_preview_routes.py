"""What an ensemble would be, over REST: candidates, the way to the members, and figures; nothing is stored; api."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import APIRouter, HTTPException, Request

from podium.api.http.authentication import viewer
from podium.api.http.cancel_on_disconnect import while_there
from podium.api.http.route_context import ServiceContext, context
from podium.api.rest.ensembles.ensemble_metrics import FiguresView
from podium.api.rest.ensembles.ensemble_routes import trials_of
from podium.api.rest.models.response_models import View
from podium.ensemble.building.ensemble_preview import Preview, preview
from podium.ensemble.building.version_building import Builder
from podium.ensemble.scoring.degradation import Scores
from podium.ensemble.values.ensemble_spec import EnsembleRequest

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
MOST_WAITING = 16
Answer = TypeVar("Answer")


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


class Turns:
    """One preview at a time, since each reads and sums the predictions of up to a hundred trials.

    Those that wait hold no thread that other requests need, and one whose client has left is not begun.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "preview")
        self._asked = 0

    async def take(self, work: Callable[[], Answer]) -> Answer:
        """What `work` answers. Raises `HTTPException` where too many wait."""
        if self._asked > MOST_WAITING:
            raise HTTPException(429, f"{MOST_WAITING} other previews wait already; try again in some seconds")
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._asked -= 1


_turns = Turns()


@router.post("/preview", dependencies=[viewer])
async def preview_ensemble(body: EnsembleRequest, request: Request, service: ServiceContext = context) -> PreviewView:
    """What would be built of this request, and how good it is on rows that are at hand; nothing is created."""

    def work() -> PreviewView:
        return PreviewView.of(preview(Builder(service.settings.data), body, trials_of(body, service)))

    return await while_there(request, _turns.take(work))
