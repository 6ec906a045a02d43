"""What a trial suggests, planned or chosen when it asks, and the values that were enqueued for it; trial process."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Any, cast

from podium.sweep.spec import suggested_parameters
from podium.sweep.spec.suggested_parameters import Distribution
from podium.sweep.trial_process.channel import Channel
from podium.sweep.trial_process.slot_answers import Answers
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.trial import Assignment, Params, Scalar

SUGGEST_ANSWER_S = 10.0
MAX_PARAMS = 1000


class Suggestions:
    """The parameters of a trial, with the `suggest_*` methods of Optuna."""

    def __init__(self, assignment: Assignment, channel: Channel, answers: Answers) -> None:
        self._assignment = assignment
        self._channel = channel
        self._answers = answers
        self._params: Params = dict(assignment.params)
        self._distributions: dict[str, Distribution] = {}

    @property
    def params(self) -> Params:
        """The values chosen for this trial, by parameter."""
        return dict(self._params)

    @property
    def unused_enqueued(self) -> list[str]:
        """The parameters that have an enqueued value, and that the code has not suggested."""
        return [name for name in self._assignment.enqueued if name not in self._distributions]

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """The value of `name`: the planned one, checked against these bounds, or one that the search chooses now."""
        return float(cast(float, self._suggest(name, suggested_parameters.float_range(name, low, high, step, log))))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """The value of `name`: the planned one, checked against these bounds, or one that the search chooses now."""
        return int(cast(int, self._suggest(name, suggested_parameters.int_range(name, low, high, step, log))))

    def suggest_categorical(self, name: str, choices: Sequence[Scalar]) -> Any:
        """The value of `name`: the planned one, checked against these choices, or one that the search chooses now."""
        return self._suggest(name, suggested_parameters.choice_of(name, choices))

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """Optuna's old name for `suggest_float`."""
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """Optuna's old name for `suggest_float` with `log=True`."""
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """Optuna's old name for `suggest_float` with a step."""
        return self.suggest_float(name, low, high, step=q)

    @property
    def distributions(self) -> dict[str, dict[str, Any]]:
        """What was suggested so far, each as a sweep file writes it: `{"min": 0.0, "max": 1.0}`."""
        return {name: dict(wanted) for name, wanted in self._distributions.items()}

    def _suggest(self, name: str, wanted: Distribution) -> Scalar:
        suggested_parameters.check_name(name)
        if name not in self._params:
            self._params[name] = self._define(name, wanted)
        elif (wrong := suggested_parameters.complaint(self._params[name], wanted)) is not None:
            raise UserCodeError(f"{name} is {self._params[name]!r} in this trial, {wrong}")
        self._distributions.setdefault(name, wanted)
        return self._params[name]

    def _define(self, name: str, wanted: Distribution) -> Scalar:
        """Have the search choose a value for what the sweep file does not name; without an answer, draw one."""
        if len(self._params) >= MAX_PARAMS:
            raise UserCodeError(f"suggest({name!r}): a trial has {MAX_PARAMS} parameters at most")
        enqueued = self._assignment.enqueued
        if name in enqueued and (wrong := suggested_parameters.complaint(enqueued[name], wanted)) is not None:
            raise UserCodeError(f"{name} was enqueued as {enqueued[name]!r}, {wrong}; correct it, or leave it out")
        self._channel.send(kind="wanted", name=name, distribution=wanted)
        answer = self._answers.wait(SUGGEST_ANSWER_S, lambda said: said["kind"] == "suggested" and said["name"] == name)
        if answer is None:
            return self._without_answer(name, wanted)
        if answer["error"]:
            raise UserCodeError(answer["error"])
        return cast(Scalar, answer["value"])

    def _without_answer(self, name: str, wanted: Distribution) -> Scalar:
        """The enqueued value, or a random one; the search is told."""
        if name in self._assignment.enqueued:
            value, how = self._assignment.enqueued[name], "as it was enqueued"
        else:
            seed = f"{self._assignment.seed}:{name}"
            value, how = suggested_parameters.drawn(wanted, random.Random(seed)), "at random"  # noqa: S311 - no secret
        print(f"podium: the search did not choose {name} in time; it is {value!r}, {how}", file=sys.stderr)
        self._channel.send(kind="wanted", name=name, distribution=wanted, drawn=True, value=value)
        return value
