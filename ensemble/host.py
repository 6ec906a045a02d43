"""Keeps the ensembles that the database wants: places their workers, watches them, evaluates; host process.

A loop over what is wanted and what is there. It holds nothing that it could not find again: killed and started anew,
it takes the workers that live, and replaces those that do not.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from db import devices, ensembles
from db.engine import Database
from db.ensembles import EnsembleRow, MemberRow
from ensemble import workers
from ensemble.evaluator import Evaluator
from ensemble.networks import ModelFile
from ensemble.placement import Place, spread
from ensemble.spec import EnsembleState, MemberState, Mode
from ensemble.workers import Worker, WorkerPlan
from sweep.errors import EnsembleError, PodiumError
from sweep.layout import AttemptDirectory
from sweep.part import wake
from sweep.settings import ServiceSettings, cores

TICK_S = 0.5
RESTART_S = 1.0  # doubled with each death of a worker, up to the next line
MAX_RESTART_S = 30.0
log = logging.getLogger("podium.host")


@dataclass(slots=True)
class _Running:
    """A worker of an ensemble and how it does."""

    worker: Worker
    starting: Future[str] | None


@dataclass(slots=True)
class _Live:
    """An ensemble that the host keeps up: one worker in-graph, one a member between-graph."""

    workers: dict[int, _Running] = field(default_factory=dict)  # by the position of its first member
    again_s: dict[int, float] = field(default_factory=dict)  # position -> when to start it again
    deaths: dict[int, int] = field(default_factory=dict)


class Host:
    """See the module."""

    def __init__(self, settings: ServiceSettings, database: Database, evaluator: Evaluator) -> None:
        self._settings = settings
        self._database = database
        self._evaluator = evaluator
        self._live: dict[int, _Live] = {}
        self._news = threading.Event()
        self._asked = threading.Event()  # for evaluations
        self._stopping = False

    def wake(self) -> None:
        """Look at the database now."""
        self._news.set()
        self._asked.set()

    def stop(self) -> None:
        """End the loop; the workers live on, for the next host."""
        self._stopping = True
        self._news.set()

    def run(self) -> None:
        """Keep things as they are wanted until `stop`."""
        threading.Thread(target=self._evaluate_forever, name="evaluate", daemon=True).start()
        while not self._stopping:
            try:
                self.step()
            except PodiumError as error:
                log.error("%s; trying again", error)
            self._news.wait(TICK_S)
            self._news.clear()

    def step(self) -> None:
        """Compare what is wanted with what is there, and act on the difference."""
        with self._database.read() as connection:
            wanted = {row.id: row for row in ensembles.wanted(connection)}
        for ensemble_id in [known for known in self._live if known not in wanted]:
            self._retire(ensemble_id)
        changed = False
        for row in wanted.values():
            live = self._live.get(row.id)
            if live is None:
                changed |= self._build(row)
            else:
                changed |= self._watch(row, live)
        if changed:
            wake(self._settings.runtime.wake_socket("gateway"))

    # Building.

    def _build(self, row: EnsembleRow) -> bool:
        """Take over the workers of a host before us, or place new ones."""
        try:
            classes, features = self._evaluator.describe([self._model(member) for member in row.members])
        except PodiumError as error:
            self._set_state(row.id, EnsembleState.FAILED, str(error))
            return True
        with self._database.write() as connection:
            ensembles.describe(connection, row.id, classes, features)
        live = self._live[row.id] = _Live()
        for position, members in _groups(row):
            worker = self._find(row, members, features)
            if worker is not None:
                live.workers[position] = _Running(worker, None)
            else:
                self._place(row, live, position, members, features)
        self._set_state(row.id, *_state(row, live))
        return True

    def _find(self, row: EnsembleRow, members: list[MemberRow], features: int) -> Worker | None:
        first = members[0]
        if first.state is not MemberState.READY or first.endpoint is None:
            return None
        places = {place.device_id: place for place in self._places()}
        if not all(member.device_id in places for member in members):
            return None
        chosen = [places[member.device_id or ""] for member in members]
        return workers.find(self._plan(row, members, chosen, first.epoch, features))

    def _place(self, row: EnsembleRow, live: _Live, position: int, members: list[MemberRow], features: int) -> None:
        places = self._places()
        if not places:
            live.again_s[position] = time.monotonic() + RESTART_S
            return
        with self._database.read() as connection:
            epoch = max(m.epoch for m in ensembles.get(connection, row.id).members if m.position == position) + 1
        plan = self._plan(row, members, spread(places, len(members)), epoch, features)
        worker = workers.place(plan)
        live.workers[position] = _Running(worker, worker.start())
        with self._database.write() as connection:
            for member, device_id in zip(members, plan.device_ids, strict=True):
                ensembles.change_member(
                    connection, member.id, MemberState.STARTING, device_id=device_id, node=plan.node,
                    pid=None, epoch=epoch, endpoint=plan.endpoint,
                )  # fmt: skip

    def _plan(
        self, row: EnsembleRow, members: list[MemberRow], places: list[Place], epoch: int, features: int
    ) -> WorkerPlan:
        visible = list(dict.fromkeys(place.visible for place in places if place.visible))
        files = [
            ModelFile(
                str(self._model(member)), member.model_sha256, member.weight,
                visible.index(place.visible) if place.visible else 0,
            )
            for member, place in zip(members, places, strict=True)
        ]  # fmt: skip
        return WorkerPlan(
            name=f"worker-{row.id}-{members[0].position}-{epoch}",
            member_ids=tuple(member.id for member in members),
            files=tuple(files),
            device_ids=tuple(place.device_id for place in places),
            node=places[0].node,
            visible=",".join(visible),
            in_graph=row.mode is Mode.IN_GRAPH,
            endpoint=f"ipc://{self._settings.runtime.member_socket(members[0].id, epoch)}",
            epoch=epoch,
            features=features,
            threads=max(1, cores() // len(row.members)),
        )

    def _places(self) -> list[Place]:
        with self._database.read() as connection:
            return [
                Place(device.id, device.node, device.visible, len(device.member_ids))
                for device in devices.all_of(connection)
                if device.state in ("ready", "busy")
            ]

    def _model(self, member: MemberRow) -> Path:
        data = self._settings.data
        return AttemptDirectory(data.attempt(member.sweep_id, member.trial_number, member.model_attempt)).model

    # Watching.

    def _watch(self, row: EnsembleRow, live: _Live) -> bool:
        changed = False
        for position, running in list(live.workers.items()):
            if running.starting is not None:
                changed |= self._hear_start(live, position, running)
            elif (reason := running.worker.died()) is not None:
                self._lose(live, position, running, reason)
                changed = True
        for position, due_s in list(live.again_s.items()):
            if time.monotonic() >= due_s:
                del live.again_s[position]
                members = dict(_groups(row))[position]
                self._place(row, live, position, members, row.features or 0)
                changed = True
        if changed:
            with self._database.read() as connection:
                row = ensembles.get(connection, row.id)
            self._set_state(row.id, *_state(row, live))
        return changed

    def _hear_start(self, live: _Live, position: int, running: _Running) -> bool:
        assert running.starting is not None
        if not running.starting.done():
            return False
        future, running.starting = running.starting, None
        error = future.exception()
        if error is not None and isinstance(getattr(error, "cause", None), EnsembleError):
            self._members(running, MemberState.FAILED, workers.reason_of(error), endpoint=None)
            running.worker.kill()
            del live.workers[position]
        elif error is not None:
            self._lose(live, position, running, workers.reason_of(error))
        else:
            self._members(running, MemberState.READY, "", pid=json.loads(future.result())["pid"])
        return True

    def _lose(self, live: _Live, position: int, running: _Running, reason: str) -> None:
        """The worker is gone: its members are dead, and another one starts after a while."""
        deaths = live.deaths[position] = live.deaths.get(position, 0) + 1
        wait_s = min(RESTART_S * 2 ** (deaths - 1), MAX_RESTART_S)
        log.warning("worker %s is gone (%s); another in %.0f s", running.worker.plan.name, reason, wait_s)
        self._members(running, MemberState.DEAD, reason, pid=None, endpoint=None)
        running.worker.kill()
        del live.workers[position]
        live.again_s[position] = time.monotonic() + wait_s

    def _members(self, running: _Running, state: MemberState, reason: str, **values: object) -> None:
        with self._database.write() as connection:
            for member_id in running.worker.plan.member_ids:
                ensembles.change_member(connection, member_id, state, reason, **values)

    def _retire(self, ensemble_id: int) -> None:
        """Nobody wants this ensemble any more."""
        for running in self._live.pop(ensemble_id).workers.values():
            running.worker.kill()
            self._members(running, MemberState.STOPPED, "", pid=None, endpoint=None)
        wake(self._settings.runtime.wake_socket("gateway"))

    def _set_state(self, ensemble_id: int, state: EnsembleState, reason: str) -> None:
        with self._database.write() as connection:
            if ensembles.get(connection, ensemble_id).state is not state:
                ensembles.change(connection, ensemble_id, state, reason, time.time())

    # Evaluating.

    def _evaluate_forever(self) -> None:
        while not self._stopping:
            try:
                self._evaluate_queued()
            except PodiumError as error:
                log.error("%s; trying again", error)
            self._asked.wait(TICK_S)
            self._asked.clear()

    def _evaluate_queued(self) -> None:
        with self._database.read() as connection:
            queued = ensembles.queued_evaluations(connection)
        for evaluation in queued:
            result, reason = None, ""
            try:
                with self._database.read() as connection:
                    row = ensembles.get(connection, evaluation.ensemble_id)
                keep = self._settings.data.probabilities(evaluation.id)
                result = self._evaluator.evaluate(row, self._model(row.members[0]), evaluation.split, keep)
            except PodiumError as error:
                reason = str(error)
            with self._database.write() as connection:
                ensembles.finish_evaluation(connection, evaluation.id, result, reason, time.time())


def _groups(row: EnsembleRow) -> list[tuple[int, list[MemberRow]]]:
    """The members of each worker, by the position of its first."""
    if row.mode is Mode.IN_GRAPH:
        return [(0, list(row.members))]
    return [(member.position, [member]) for member in row.members]


def _state(row: EnsembleRow, live: _Live) -> tuple[EnsembleState, str]:
    """The state of an ensemble, from the states of its members, and why it is not better."""
    ready = sum(len(r.worker.plan.member_ids) for r in live.workers.values() if r.starting is None)
    starting = any(running.starting is not None for running in live.workers.values())
    if ready == len(row.members):
        return EnsembleState.READY, ""
    reasons = "; ".join(f"member {m.position}: {m.reason}" for m in row.members if m.reason)
    if ready >= row.quorum and not (starting and row.state in (EnsembleState.BUILDING, EnsembleState.WARMING)):
        return EnsembleState.DEGRADED, reasons
    if starting and row.state in (EnsembleState.BUILDING, EnsembleState.WARMING):
        return EnsembleState.WARMING, ""
    return EnsembleState.BELOW_QUORUM, reasons
