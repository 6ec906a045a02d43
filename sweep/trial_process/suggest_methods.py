"""The `suggest_*` methods of a trial: planned values, and values that the search chooses on request; trial process."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Any, cast

from podium.sweep.protocol.message_limits import MAX_PARAMS
from podium.sweep.protocol.slot_commands import SuggestAnswer
from podium.sweep.trial_process import suggested_distributions
from podium.sweep.trial_process.slot_answer_wait import SlotAnswers
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.suggested_distributions import Distribution
from podium.sweep.values.attempt_assignment import Assignment, Params, Scalar
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.slot_events import SuggestRequested

SUGGEST_ANSWER_S = 10.0


class SuggestMethods:
    """The parameters of a trial, with the `suggest_*` methods of Optuna."""

    def __init__(self, assignment: Assignment, channel: Channel, answers: SlotAnswers) -> None:
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
        """The parameters with an enqueued value that the code has not suggested."""
        return [name for name in self._assignment.enqueued if name not in self._distributions]

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """The value of `name`: the planned one, which must be within the bounds, or one that the search chooses now."""
        return float(
            cast(
                float,
                self._suggest(name, suggested_distributions.float_range(name, low, high=high, step=step, log=log)),
            )
        )

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """The value of `name`: the planned one, which must be within the bounds, or one that the search chooses now."""
        return int(
            cast(int, self._suggest(name, suggested_distributions.int_range(name, low, high=high, step=step, log=log)))
        )

    def suggest_categorical(self, name: str, choices: Sequence[Scalar]) -> Any:
        """The value of `name`: the planned one, which must be a choice, or one that the search chooses now."""
        return self._suggest(name, suggested_distributions.choice_of(name, choices))

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """Deprecated in Optuna: use `suggest_float`."""
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """Deprecated in Optuna: use `suggest_float` with `log=True`."""
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """Deprecated in Optuna: use `suggest_float` with `step`."""
        return self.suggest_float(name, low, high, step=q)

    @property
    def distributions(self) -> dict[str, dict[str, Any]]:
        """The distributions suggested so far, in the form of a sweep file: `{"min": 0.0, "max": 1.0}`."""
        return {name: dict(distribution) for name, distribution in self._distributions.items()}

    def _suggest(self, name: str, distribution: Distribution) -> Scalar:
        suggested_distributions.check_name(name)
        if name not in self._params:
            self._params[name] = self._request(name, distribution)
        elif (wrong := suggested_distributions.invalid_reason(self._params[name], distribution)) is not None:
            raise UserCodeError(f"{name} is {self._params[name]!r} in this trial, {wrong}")
        self._distributions.setdefault(name, distribution)
        return self._params[name]

    def _request(self, name: str, distribution: Distribution) -> Scalar:
        """Have the search choose the value of a parameter that the sweep file does not name."""
        if len(self._params) >= MAX_PARAMS:
            raise UserCodeError(f"suggest({name!r}): a trial can have at most {MAX_PARAMS:,} parameters")
        enqueued = self._assignment.enqueued
        if (
            name in enqueued
            and (wrong := suggested_distributions.invalid_reason(enqueued[name], distribution)) is not None
        ):
            raise UserCodeError(f"{name} was enqueued as {enqueued[name]!r}, {wrong}; correct or remove the value")
        self._channel.send(SuggestRequested(self._assignment.key, name, distribution))
        answer = self._answers.wait(SUGGEST_ANSWER_S, SuggestAnswer, lambda answer: answer.name == name)
        if answer is None:
            return self._without_answer(name, distribution)
        if answer.error:
            raise UserCodeError(answer.error)
        return answer.value

    def _without_answer(self, name: str, distribution: Distribution) -> Scalar:
        """Use the enqueued value or a random one, and report it to the search."""
        if name in self._assignment.enqueued:
            value, source = self._assignment.enqueued[name], "its enqueued value"
        else:
            rng = random.Random(f"{self._assignment.seed}:{name}")  # noqa: S311 - not for cryptography
            value, source = suggested_distributions.sample(distribution, rng), "a random value"
        print(
            f"podium: no value for {name} from the search within {SUGGEST_ANSWER_S:g} s; using {source}, {value!r}",
            file=sys.stderr,
        )
        self._channel.send(SuggestRequested(self._assignment.key, name, distribution, drawn=True, value=value))
        return value
