"""Which trials of earlier sweeps are compatible with a new sweep and warm-start it. Pure; client, api, scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params

MAX_REASONS = 5


@dataclass(frozen=True, slots=True)
class WarmStart:
    """The trials that fit the parameters of the new sweep, the number of those that do not, and the first reasons."""

    trial_ids: tuple[int, ...] = ()
    dropped: int = 0
    why: tuple[str, ...] = ()
    left_out: int = 0  # not considered, because there are too many


def select_trials(spec: SweepSpec, earlier: Iterable[tuple[int, Params]]) -> WarmStart:
    """Selects the fitting trials; each is given by id and parameters."""
    taken: list[int] = []
    dropped: dict[int, str] = {}
    for trial_id, params in earlier:
        complaint = incompatible_parameters(spec, params)
        if complaint is None:
            taken.append(trial_id)
        else:
            dropped[trial_id] = complaint
    return WarmStart(tuple(taken), len(dropped), tuple(dict.fromkeys(dropped.values()))[:MAX_REASONS])


def incompatible_objectives(spec: SweepSpec, sweep_id: int, goals: Iterable[tuple[str, str]]) -> str | None:
    """Why the results of an earlier sweep with these goals (name and direction) cannot be used; None if they can."""
    earlier = list(goals)
    if [goal for _, goal in earlier] == [metric.goal for metric in spec.objectives]:
        return None
    theirs = ", ".join(f"{goal} {name}" for name, goal in earlier)
    ours = ", ".join(f"{metric.goal} {metric.name}" for metric in spec.objectives)
    return f"sweep {sweep_id} has other goals ({theirs}) than this sweep ({ours}); use sweeps with the same goals"


def incompatible_parameters(spec: SweepSpec, params: Params) -> str | None:
    """Why a trial with these parameters does not fit the sweep; None if it fits.

    It fits if each active parameter has a value within its bounds. Its other parameters are ignored.
    """
    chosen: Params = {}
    for name, parameter in spec.ordered():
        if not parameter.active(chosen):
            continue
        if name not in params:
            return f"{name}: missing"
        if complaint := parameter.invalid_reason(params[name]):
            return f"{name}: {complaint}"
        chosen[name] = params[name]
    return None
