"""What a search is told of trials and answers about them: plain values; scheduler and search process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from podium.sweep.values.trial import Params, TrialState

ENQUEUED = "enqueue"  # the sampler of a trial that the sweep file asks for
CLONED = "clone"  # and of one that a client added
GRID = "grid"
ENQUEUED_VALUES = "podium:enqueued"  # attribute of a trial: enqueued values of what the sweep file does not name


@dataclass(frozen=True, slots=True)
class PastTrial:
    """A trial as the database remembers it: all that a search needs to know."""

    number: int
    state: TrialState
    params: Params
    value: float | None = None  # of the first objective
    reports: dict[int, float] = field(default_factory=dict)  # step -> the metric that is pruned on
    attributes: dict[str, Any] = field(default_factory=dict)
    sampler: str = ""
    infeasible: bool = False  # it failed for want of memory
    values: tuple[float, ...] | None = None  # of all objectives; None: there is one, and `value` is its
    constraints: dict[str, float] = field(default_factory=dict)  # above 0: violated
    distributions: dict[str, dict[str, Any]] = field(default_factory=dict)  # of what the sweep file does not name

    @property
    def objectives(self) -> tuple[float, ...] | None:
        """The value of each objective, in order; None where it has none."""
        if self.values is not None:
            return self.values
        return None if self.value is None else (self.value,)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PastTrial:
        """The inverse of `to_dict`, also by way of JSON."""
        rest = dict(values)
        rest["state"] = TrialState(rest["state"])
        rest["reports"] = {int(step): value for step, value in rest["reports"].items()}
        rest["values"] = None if rest["values"] is None else tuple(rest["values"])
        return cls(**rest)


@dataclass(frozen=True, slots=True)
class Planned:
    """What to try next, and who chose it."""

    number: int
    params: Params
    sampler: str
    attributes: dict[str, Any]
    distributions: dict[str, dict[str, Any]] = field(default_factory=dict)  # of what the sweep file does not name


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a trial should give up at its last step; all notes on it if the pruner changed any, else none."""

    prune: bool
    attributes: dict[str, Any]
