"""What a trial may suggest beside the parameters of its sweep file, checked: user code asks for it; pure, scheduler."""

from __future__ import annotations

import json

from podium.sweep.spec.search_methods import BRUTE_FORCE, not_enumerable
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.trial import Scalar, Wanted
from podium.sweep.values.trial_history import GRID

MAX_PARAMS = 1000  # of a trial
MAX_DISTRIBUTION = 16 << 10  # characters of one, as JSON


def definable(spec: SweepSpec, wanted: Wanted, known: int) -> Parameter:
    """The parameter that a trial wants beside the `known` ones it has.

    Raises `UserCodeError` for one that cannot be; the message is for the trial's own code.
    """
    name = wanted.name
    if known >= MAX_PARAMS:
        raise UserCodeError(f"suggest {name}: a trial has {MAX_PARAMS} parameters at most")
    if len(json.dumps(wanted.distribution)) > MAX_DISTRIBUTION:
        raise UserCodeError(f"suggest {name}: its choices take over {MAX_DISTRIBUTION} characters; choose by names")
    if name in spec.parameters:
        raise UserCodeError(
            f"{name} takes no part in this trial, by its `when` in the sweep file; ask for it only where it does"
        )
    if spec.searched_by == GRID:
        raise UserCodeError(f"a grid knows its values beforehand; name {name} under parameters of the sweep file")
    parameter = _parameter(wanted)
    if spec.searched_by == BRUTE_FORCE and (complaint := not_enumerable(parameter)) is not None:
        raise UserCodeError(f"suggest {name}: {complaint}")
    return parameter


def enqueued_value(wanted: Wanted, value: Scalar) -> Scalar:
    """The value that was enqueued for a parameter, as its range has it. Raises `UserCodeError` where it is outside."""
    parameter = _parameter(wanted)
    if parameter.is_range and isinstance(value, int | float) and not isinstance(value, bool):
        value = int(value) if parameter.integer and float(value).is_integer() else float(value)
    if (complaint := parameter.complaint(value)) is not None:
        raise UserCodeError(f"{wanted.name} was enqueued as {value!r}, but {complaint}; correct it, or leave it out")
    return value


def _parameter(wanted: Wanted) -> Parameter:
    try:
        parameter = Parameter.model_validate(wanted.distribution)
        complaint = parameter.complaint(wanted.value) if wanted.drawn else None
    except (ValueError, ArithmeticError) as error:  # the latter for numbers that no float can be
        raise UserCodeError(f"suggest {wanted.name}: not possible: {error}") from None
    if parameter.drawn or parameter.when:
        raise UserCodeError(f"suggest {wanted.name}: {wanted.distribution!r:.200} cannot be suggested")
    if complaint is not None:
        raise UserCodeError(f"suggest {wanted.name}: {complaint}")
    return parameter
