"""Sweeps that wait for their predecessors: when one is released, and the values that it gets. Pure; api, scheduler."""

from __future__ import annotations

import json
from dataclasses import dataclass

from podium.sweep.spec.predecessors import FixFrom, with_constants
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec, spec_from_json
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.states import SweepState
from podium.sweep.values.sweep_wait_reason import Wait, WaitReason

_SHOWN = 3  # how many sweeps a reason names
_REMEDY = "release this sweep to start it anyway, or cancel it"
_ENDED_WITHOUT_RESULT = (SweepState.FAILED, SweepState.CANCELLED)


@dataclass(frozen=True, slots=True)
class FixedValues:
    """Values of parameters, taken from the best trial of an earlier sweep."""

    sweep_id: int
    trial_id: int
    number: int
    params: Params

    def to_json(self) -> str:
        fields = {"sweep_id": self.sweep_id, "trial_id": self.trial_id, "number": self.number, "params": self.params}
        return json.dumps(fields)

    @classmethod
    def read(cls, text: str) -> FixedValues:
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A sweep that must finish before another one starts."""

    sweep_id: int
    name: str
    state: SweepState
    reason: str = ""  # of its state

    def __str__(self) -> str:
        return f"sweep {self.sweep_id} ({self.name})"


@dataclass(frozen=True, slots=True)
class BestTrial:
    """The best finished trial of the sweep of `fix_from`."""

    trial_id: int
    number: int
    params: Params


@dataclass(frozen=True, slots=True)
class HeldSweep:
    """A queued or paused sweep that waits for its predecessors; `spec` is JSON, with ids instead of names."""

    sweep_id: int
    state: SweepState
    spec: str
    predecessors: tuple[Predecessor, ...]
    best: BestTrial | None = None  # of the sweep of `fix_from`, once it has one
    wait: Wait | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """The sweep can start; `fixed`: the values that its parameters get."""

    fixed: FixedValues | None = None


def release_or_wait(held: HeldSweep, *, by_client: bool = False) -> Release | Wait:
    """Whether a sweep can start, or why it waits.

    `by_client`: a client releases it, so the states of its predecessors do not count. The values of `fix_from` are
    needed in any case; they are then those of the best trial so far.
    """
    if not by_client and (wait := _wait_for_states(held)) is not None:
        return wait
    spec = spec_from_json(held.spec)
    return Release() if spec.fix_from is None else _fix(held, spec, spec.fix_from)


def _wait_for_states(held: HeldSweep) -> Wait | None:
    failed = [each for each in held.predecessors if each.state in _ENDED_WITHOUT_RESULT]
    if failed:
        whys = [f"{each} {_ended(each)}" for each in failed]
        return Wait(WaitReason.PREDECESSOR_FAILED, f"{_listed(whys)}; {_REMEDY}")
    waiting = [f"{each} to finish; it is {each.state}" for each in held.predecessors if not _has_finished(each)]
    return Wait(WaitReason.PREDECESSOR, f"waiting for {_listed(waiting)}") if waiting else None


def _has_finished(predecessor: Predecessor) -> bool:
    return predecessor.state is SweepState.FINISHED


def _ended(predecessor: Predecessor) -> str:
    if predecessor.state is SweepState.CANCELLED:
        return "was cancelled"
    return f"failed: {predecessor.reason}" if predecessor.reason else "failed"


def _fix(held: HeldSweep, spec: SweepSpec, fix_from: FixFrom) -> Release | Wait:
    source = next(each for each in held.predecessors if each.sweep_id == fix_from.sweep)
    if held.best is None:
        return _no_values(f"{source} has no finished trial that satisfies its constraints")
    params = {name: held.best.params[name] for name in fix_from.parameters if name in held.best.params}
    fixed = FixedValues(source.sweep_id, held.best.trial_id, held.best.number, params)
    if (reason := unusable_reason(spec, fix_from, fixed)) is not None:
        return _no_values(f"the best trial of {source}, trial {fixed.number}, {reason}")
    return Release(fixed)


def unusable_reason(spec: SweepSpec, fix_from: FixFrom, fixed: FixedValues) -> str | None:
    """Why the values cannot be those of the sweep's parameters; None if they can."""
    for name, value in fixed.params.items():
        if complaint := spec.parameters[name].invalid_reason(value):
            return f"has {name}: {value!r}, which this sweep does not allow: {complaint}"
    needed = with_constants(spec.parameters, fixed.params)
    if missing := [name for name in fix_from.parameters if name in needed and name not in fixed.params]:
        return f"has no value of {', '.join(missing)}"
    try:
        with_fixed_values(spec, fixed.params)
    except InvalidSpecError as error:
        return f"has values that do not fit this sweep: {error}"
    return None


def _no_values(why: str) -> Wait:
    remedy = "cancel this sweep, and submit it with other values"
    return Wait(WaitReason.FIX_FROM, f"fix_from: {why}; {remedy}")


def with_fixed_values(spec: SweepSpec, values: Params) -> SweepSpec:
    """The sweep with the values of `fix_from` as constants, without `fix_from`. Raises `InvalidSpecError`."""
    document = json.loads(spec.to_json())
    del document["fix_from"]
    constants = with_constants(spec.parameters, values)
    document["parameters"] = {name: each.model_dump(exclude_unset=True) for name, each in constants.items()}
    return parse_spec(document, stored=True)


def _listed(reasons: list[str]) -> str:
    more = [f"{len(reasons) - _SHOWN} more"] if len(reasons) > _SHOWN else []
    return " and ".join([*reasons[:_SHOWN], *more])
