"""`trial.study`: read access of a trial to its sweep, with the names of `optuna.Study`; trial process.

The study itself is in the scheduler's search. Each access queries the service again, a page at a time where the result
is long: nothing is cached, so the result is always current.
"""

from __future__ import annotations

import copy
import datetime
import itertools
from collections.abc import Container, Mapping
from typing import Any, NoReturn, Protocol

from podium.sweep.protocol.slot_commands import StudyAnswer
from podium.sweep.trial_process.optuna_frozen_trial import FrozenTrial, State, direction_of, state_of
from podium.sweep.trial_process.slot_answer_wait import SlotAnswers
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.constraints_and_user_attributes import is_infeasible
from podium.sweep.values.errors import NotInTrialError, StudyUnavailableError
from podium.sweep.values.slot_events import StopRequested, StudyRequested

ANSWER_S = 60.0  # a page takes milliseconds; a scheduler that restarts answers when it is back


class RunningTrial(Protocol):
    """The state of the running trial that is not in the database yet."""

    @property
    def user_attrs(self) -> dict[str, Any]: ...

    @property
    def constraints(self) -> dict[str, float]: ...

    @property
    def params(self) -> dict[str, Any]: ...


class Storage:
    """System attributes of the running trial, for Optuna's callbacks; lost when the process exits."""

    def __init__(self) -> None:
        self._system_attrs: dict[str, Any] = {}

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        """Set an attribute of the running trial; `trial_id` is ignored."""
        del trial_id
        self._system_attrs[key] = value

    def get_trial_system_attrs(self, trial_id: int) -> dict[str, Any]:
        """The attributes set so far."""
        del trial_id
        return dict(self._system_attrs)


class Study:
    """The sweep of a trial, which the trial can read and stop."""

    def __init__(self, assignment: Assignment, channel: Channel, answers: SlotAnswers, own: RunningTrial) -> None:
        self._assignment = assignment
        self._channel = channel
        self._answers = answers
        self._own = own
        self._requests = itertools.count(1)
        self._stopped = False
        self._storage = Storage()

    @property
    def study_name(self) -> str:
        """The name of the sweep."""
        return self._assignment.sweep_name

    @property
    def _study_id(self) -> int:
        return self._assignment.sweep_id

    @property
    def directions(self) -> list[Any]:
        """`StudyDirection` of each objective."""
        return [direction_of(goal) for goal in self._assignment.goals]

    @property
    def direction(self) -> Any:
        """`StudyDirection` of the objective. Raises `RuntimeError` where there are several, as Optuna does."""
        self._check_single("direction", "directions")
        return self.directions[0]

    @property
    def metric_names(self) -> list[str]:
        """The names of the objectives."""
        return list(self._assignment.objectives)

    @property
    def user_attrs(self) -> dict[str, Any]:
        """Always empty: a sweep has no user attributes."""
        return {}

    @property
    def system_attrs(self) -> dict[str, Any]:
        """Always empty: a sweep has no system attributes."""
        return {}

    def _is_multi_objective(self) -> bool:
        return len(self._assignment.objectives) > 1

    def _check_single(self, name: str, several: str) -> None:
        if self._is_multi_objective():
            raise RuntimeError(f"study.{name}: the sweep has several objectives; read study.{several}")

    # The trials.

    @property
    def best_trial(self) -> FrozenTrial:
        """The best finished trial that violates no constraint.

        Raises `ValueError` while there is none, and `RuntimeError` where there are several objectives.
        """
        self._check_single("best_trial", "best_trials")
        found = self._query("best", 0)["trials"]
        if not found:
            raise ValueError("No trials are completed yet, or each of them violates a constraint.")
        return self._frozen(found[0])

    @property
    def best_value(self) -> float:
        """The value of `best_trial`; raises the same errors."""
        value = self.best_trial.value
        assert value is not None, "a finished trial has a value"
        return value

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of `best_trial`; raises the same errors."""
        return self.best_trial.params

    @property
    def best_trials(self) -> list[FrozenTrial]:
        """The Pareto front of the finished trials that violate no constraint; of one objective, the best ones."""
        from podium.sweep.lifecycle.pareto import fronts  # numpy: only in this process

        finished = [
            trial
            for trial in self.trials
            if trial.state == State.COMPLETE and trial.values is not None and not is_infeasible(trial.constraints)
        ]
        if not finished:
            return []
        front = fronts([trial.values or [] for trial in finished], self._assignment.goals)[0]
        return [finished[position] for position in sorted(front)]

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials of the sweep so far, by number, including this one."""
        return self.get_trials()

    def get_trials(self, deepcopy: bool = True, states: Container[Any] | None = None) -> list[FrozenTrial]:
        """The trials, or those in `states`. Reading 10,000 trials takes about a second."""
        del deepcopy  # nothing is shared: each call reads again
        found: list[FrozenTrial] = []
        number: int | None = 0
        while number is not None:
            page = self._query("trials", number)
            found += [self._frozen(record) for record in page["trials"]]
            number = page["next"]
        return [trial for trial in found if states is None or trial.state in states]

    def _frozen(self, record: Mapping[str, Any]) -> FrozenTrial:
        number = int(record["number"])
        mine = number == self._assignment.number
        return FrozenTrial(
            number=number,
            trial_id=record["id"],
            state=state_of(record["state"]),
            params=self._own.params if mine else record["params"],
            values=record["values"],
            distributions=record["distributions"],
            user_attrs=copy.deepcopy(self._own.user_attrs) if mine else record["user_attrs"],
            constraints=self._own.constraints if mine else record["constraints"],
            intermediate_values=lambda: self._curve(number),
            datetime_start=_local(record["started_at"]),
            datetime_complete=_local(record["ended_at"]),
        )

    def _curve(self, number: int) -> dict[int, float]:
        return {int(step): float(value) for step, value in self._query("curve", number)["curve"]}

    def _query(self, what: str, number: int) -> dict[str, Any]:
        request = next(self._requests)
        self._channel.send(StudyRequested(self._assignment.key, request, what, number))
        answer = self._answers.wait(ANSWER_S, StudyAnswer, lambda answer: answer.request == request)
        if answer is None:
            raise StudyUnavailableError(f"trial.study: no response from the service within {ANSWER_S:g} s")
        if answer.error:
            raise StudyUnavailableError(f"trial.study: the service failed to read the study: {answer.error}")
        return answer.answer

    # Methods that change the sweep.

    def stop(self) -> None:
        """Stop the sweep, as `podium sweep stop` does: running trials finish, and no other starts."""
        if not self._stopped:
            self._stopped = True
            self._channel.send(StopRequested(self._assignment.key))

    # Members of `optuna.Study` that a trial does not have.

    @property
    def sampler(self) -> NoReturn:
        """Not available: the sampler runs in the scheduler."""
        _refuse("sampler", "choose the sampler by `method` in the sweep file")

    @property
    def pruner(self) -> NoReturn:
        """Not available: the pruner runs in the scheduler."""
        _refuse("pruner", "choose the pruner by `early_terminate` in the sweep file")

    def optimize(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: the service runs the trials."""
        _refuse("optimize", "the service runs the trials; submit a sweep file with `podium sweep submit`")

    def ask(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: the service plans the trials."""
        _refuse("ask", "the service plans the trials")

    def tell(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: return the value from the function."""
        _refuse("tell", "return the value from the function")

    def enqueue_trial(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: enqueue configurations in the sweep file, or from a client."""
        _refuse("enqueue_trial", "write `enqueue` in the sweep file, or use `podium trial clone`")

    def add_trial(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: import a study as a sweep."""
        _refuse("add_trial", "import a study with `podium sweep import`, and list it under `warm_start`")

    def set_user_attr(self, key: str, value: Any) -> NoReturn:
        """Not available: a sweep has no attributes."""
        del value
        _refuse("set_user_attr", f"a sweep has no attributes; use trial.set_user_attr({key!r}, …)")


def _refuse(name: str, instead: str) -> NoReturn:
    raise NotInTrialError(f"trial.study.{name} is not available in a trial: {instead}")


def _local(at: float | None) -> datetime.datetime | None:
    """Local time without a zone, as in Optuna."""
    return None if at is None else datetime.datetime.fromtimestamp(at)
