"""Optuna's enums and `FrozenTrial`, as callbacks and `constraints_func` read them; trial process.

Optuna is not imported here, since its import takes time in every trial. If the user's code has imported it, Optuna's
own enum members are used, so that comparisons by `is` hold. Comparisons by `==` always hold: both are integers.
"""

from __future__ import annotations

import datetime
import enum
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CONSTRAINTS = "constraints:"  # prefix of a constraint in Optuna's system attributes


class StudyDirection(enum.IntEnum):
    """The values of `optuna.study.StudyDirection`."""

    NOT_SET = 0
    MINIMIZE = 1
    MAXIMIZE = 2


class State(enum.IntEnum):
    """The values of `optuna.trial.TrialState`."""

    RUNNING = 0
    COMPLETE = 1
    PRUNED = 2
    FAIL = 3
    WAITING = 4

    def __str__(self) -> str:
        return f"TrialState.{self.name}"

    def is_finished(self) -> bool:
        """Whether the trial has ended."""
        return self not in (State.RUNNING, State.WAITING)


STATES: Mapping[str, State] = {
    "waiting": State.WAITING,
    "running": State.RUNNING,
    "finished": State.COMPLETE,
    "pruned": State.PRUNED,
    "failed": State.FAIL,
    "cancelled": State.FAIL,  # Optuna has no such state
}


def direction_of(goal: str) -> Any:
    """`StudyDirection` of `minimize` or `maximize`: Optuna's own member if Optuna is imported."""
    return _own("optuna.study", StudyDirection[goal.upper()])


def state_of(state: str) -> Any:
    """`TrialState` of a trial's state: Optuna's own member if Optuna is imported."""
    return _own("optuna.trial", STATES[state])


def _own(module: str, member: enum.IntEnum) -> Any:
    name = {"StudyDirection": "StudyDirection", "State": "TrialState"}[type(member).__name__]
    theirs = getattr(sys.modules.get(module), name, None)
    return member if theirs is None else theirs[member.name]


class FrozenTrial:
    """A snapshot of a trial, with the attributes of `optuna.trial.FrozenTrial`.

    `distributions` are in the form of a sweep file's parameters, as in `trial.distributions`.
    """

    def __init__(
        self,
        *,
        number: int,
        state: Any,
        params: Mapping[str, Any],
        values: Sequence[float] | None = None,
        distributions: Mapping[str, Any] | None = None,
        user_attrs: Mapping[str, Any] | None = None,
        constraints: Mapping[str, float] | None = None,
        intermediate_values: Callable[[], dict[int, float]] = dict,
        datetime_start: datetime.datetime | None = None,
        datetime_complete: datetime.datetime | None = None,
        trial_id: int | None = None,
    ) -> None:
        self.number = number
        self.state = state
        self.params = dict(params)
        self.values = None if values is None else list(values)
        self.distributions = dict(distributions or {})
        self.user_attrs = dict(user_attrs or {})
        self.constraints = dict(constraints or {})
        self.datetime_start = datetime_start
        self.datetime_complete = datetime_complete
        self._trial_id = number if trial_id is None else trial_id
        self._read_curve = intermediate_values
        self._curve: dict[int, float] | None = None

    @property
    def value(self) -> float | None:
        """The value of the objective. Raises `RuntimeError` if there are several, as in Optuna."""
        if self.values is None:
            return None
        if len(self.values) > 1:
            raise RuntimeError("this trial has several objectives; read `values`")
        return self.values[0]

    @property
    def intermediate_values(self) -> dict[int, float]:
        """The reports by step; read on first access."""
        if self._curve is None:
            self._curve = self._read_curve()
        return self._curve

    @property
    def last_step(self) -> int | None:
        """The largest reported step; None without reports."""
        return max(self.intermediate_values, default=None)

    @property
    def duration(self) -> datetime.timedelta | None:
        """The duration of the trial; None while it is running."""
        if self.datetime_start is None or self.datetime_complete is None:
            return None
        return self.datetime_complete - self.datetime_start

    @property
    def system_attrs(self) -> dict[str, Any]:
        """The constraints under Optuna's keys; no other system attributes."""
        return {CONSTRAINTS + name: value for name, value in self.constraints.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenTrial) and _key(self) == _key(other)

    def __lt__(self, other: FrozenTrial) -> bool:
        return self.number < other.number

    def __le__(self, other: FrozenTrial) -> bool:
        return self.number <= other.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"FrozenTrial(number={self.number}, state={self.state!s}, values={self.values}, params={self.params})"


def _key(trial: FrozenTrial) -> tuple[Any, ...]:
    return (trial.number, trial.state, trial.values, trial.params, trial.user_attrs, trial.constraints)
