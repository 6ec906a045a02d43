"""The values exchanged with the search: earlier trials, proposals, pruning decisions; scheduler and search process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.states import TrialState

ENQUEUED = "enqueue"  # the sampler name of a trial that the sweep file enqueues
CLONED = "clone"  # the sampler name of a trial that a client added
GRID = "grid"
RANDOM = "random"
TPE = "tpe"
ENQUEUED_VALUES = "podium:enqueued"  # trial attribute: enqueued values of parameters that are not in the sweep file


class FallbackReason(StrEnum):
    """Why the method of a sweep did not propose a trial: it was sampled at random or, after many trials, by TPE."""

    SLOW = "slow"  # no proposal arrived by the deadline
    FAILED = "failed"  # the sampler raised, or its process could not be started
    PROCESS_ENDED = "process_ended"  # its process ended too often, and is not started again
    MANY_TRIALS = "many_trials"  # more trials than the method supports; TPE proposed this one


@dataclass(frozen=True, slots=True)
class PastTrial:
    """A stored trial, with everything that a search needs."""

    number: int
    state: TrialState
    params: Params
    value: float | None = None  # of the first objective
    reports: dict[int, float] = field(default_factory=dict)  # step -> the metric that is pruned on
    attributes: dict[str, Any] = field(default_factory=dict)
    sampler: str = ""
    infeasible: bool = False  # it failed because memory ran out
    values: tuple[float, ...] | None = None  # of all objectives; None if there is one, with `value`
    constraints: dict[str, float] = field(default_factory=dict)  # above 0: violated
    distributions: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of parameters that are not in the sweep file

    @property
    def objectives(self) -> tuple[float, ...] | None:
        """The value of each objective, in order; None if it has no result."""
        if self.values is not None:
            return self.values
        return None if self.value is None else (self.value,)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name; containers are those of this trial, not copies."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PastTrial:
        """The inverse of `to_dict`, also after a JSON round trip."""
        rest = dict(values)
        rest["state"] = TrialState(rest["state"])
        rest["reports"] = {int(step): value for step, value in rest["reports"].items()}
        rest["values"] = None if rest["values"] is None else tuple(rest["values"])
        return cls(**rest)


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """The parameters of the next trial, and the sampler that proposed it."""

    number: int
    params: Params
    sampler: str  # a method, a sampler class, or `ENQUEUED`, `CLONED`
    attributes: dict[str, Any]
    distributions: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of parameters that are not in the sweep file
    fallback_reason: FallbackReason | None = None  # if it was sampled at random instead
    fallback_error: str | None = None  # of the sampler, with `FAILED`
    proposed_for: int | None = None  # the earlier trial that the proposal was requested for, if it came too late


@dataclass(frozen=True, slots=True)
class PruneVerdict:
    """Whether to prune a trial at its last step; `attributes` has all its attributes if the pruner changed any."""

    prune: bool
    attributes: dict[str, Any]
