"""`program.constraints`: evaluates the constraints of a trial, as Optuna's `constraints_func`; trial process."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from podium.sweep.trial_process import user_function_runner
from podium.sweep.trial_process.optuna_frozen_trial import FrozenTrial, state_of
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.states import TrialState

_LARGEST = sys.float_info.max
Evaluate = Callable[[Trial, TrialState, Sequence[float] | None], None]


def load(program: Mapping[str, Any], code: str | None) -> Evaluate | None:
    """The function of `program.constraints`, to be called at the end of the trial; None without one.

    Raises `UserCodeError` if it does not exist, and any error of its import.
    """
    reference = program.get("constraints")
    if reference is None:
        return None
    function = user_function_runner.load_callable(reference, code)
    user_function_runner.check_one_argument(function, reference.partition(":")[2], "frozen_trial")

    def evaluate(trial: Trial, state: TrialState, values: Sequence[float] | None) -> None:
        for name, value in _named(function(_frozen(trial, state, values)), reference):
            trial.set_constraint(name, value)

    return evaluate


def _frozen(trial: Trial, state: TrialState, values: Sequence[float] | None) -> FrozenTrial:
    """The trial as Optuna passes it to `constraints_func`; the value of a pruned trial is its last report."""
    reports = trial.reports
    if values is None and reports and len(trial.objectives) == 1:
        values = [reports[max(reports)]]
    return FrozenTrial(
        number=trial.number,
        state=state_of(state.value),
        params=trial.params,
        values=values,
        distributions=trial.distributions,
        user_attrs=trial.user_attrs,
        constraints=trial.constraints,
        intermediate_values=lambda: reports,
        datetime_start=trial.datetime_start,
        datetime_complete=datetime.datetime.now(),
        trial_id=trial._trial_id,
    )


def _named(returned: Any, reference: str) -> list[tuple[str, float]]:
    """Values by name: the positions "0", "1", … as in Optuna, or the keys of a dict."""
    if isinstance(returned, Mapping):
        return [(str(name), _finite(value, reference)) for name, value in returned.items()]
    if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
        raise BadReportError(
            f"{reference} returned {returned!r:.100}; return a list of numbers, or a dict of numbers by name; a "
            "constraint is violated above 0"
        )
    return [(str(position), _finite(value, reference)) for position, value in enumerate(returned)]


def _finite(value: Any, reference: str) -> float:
    """Clip infinities to the largest float; NaN is an error, as in Optuna."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadReportError(f"{reference}: {value!r:.100} is not a number; a constraint is violated above 0") from None
    if math.isnan(number):
        raise BadReportError(f"{reference}: a constraint is NaN; return a number, above 0 if violated")
    return max(-_LARGEST, min(_LARGEST, number))
