"""Previews an ensemble over REST: candidates, selection path and scores; nothing is stored; api."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import APIRouter, HTTPException, Request

from podium.api.http.authentication import viewer
from podium.api.http.cancel_on_disconnect import cancel_on_disconnect
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.score_schemas import FiguresView
from podium.api.rest.schemas.base_schema import View
from podium.api.use_cases import ensemble_building
from podium.ensemble.building.ensemble_preview import Preview
from podium.ensemble.scoring.missing_members_and_quorum import Scores
from podium.ensemble.values.ensemble_spec import EnsembleRequest

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
MAX_QUEUED = 16
Answer = TypeVar("Answer")


class ContenderView(View):
    """A candidate trial. `weight` is 0 if it is not chosen; `scores` are on validation, if it has predictions."""

    trial_id: int
    number: int
    sweep_id: int
    value: float | None
    weight: float
    scores: Scores | None


class StepView(View):
    """The ensemble after one more selection step; `inside` is false beyond the requested size."""

    trial_id: int
    number: int
    members: int
    inside: bool
    validation: Scores
    calibration: Scores | None


class PreviewView(View):
    """What `POST /ensembles` would build for the same body.

    `figures` are on calibration rows, or on validation rows with a flag, never on test. If they are null, `unknown`
    says why.
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


class PreviewQueue:
    """Computes one preview at a time: each reads and combines the predictions of up to a hundred trials.

    Queued previews occupy no thread of other requests. A preview whose client has disconnected is not started.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "preview")
        self._pending = 0

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """The result of `work`. Raises `HTTPException` 429 if too many previews are queued."""
        if self._pending > MAX_QUEUED:
            raise HTTPException(429, f"{MAX_QUEUED} previews are queued; retry in a few seconds")
        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._pending -= 1


@router.post("/preview", dependencies=[viewer])
async def preview_ensemble(body: EnsembleRequest, request: Request, service: ServiceContext = context) -> PreviewView:
    """Preview `POST /ensembles`: the members it would choose and their scores. Nothing is created."""
    queue: PreviewQueue = request.app.state.previews

    def work() -> PreviewView:
        return PreviewView.of(ensemble_building.preview_ensemble(service, body))

    return await cancel_on_disconnect(request, queue.run(work))
