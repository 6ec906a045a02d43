"""Checks parameters that user code suggests in addition to those of the sweep file (define-by-run); scheduler."""

from __future__ import annotations

import json

from pydantic import ValidationError

from podium.sweep.spec.pydantic_errors import problems_of
from podium.sweep.spec.search_method_registry import BRUTE_FORCE, not_enumerable_reason
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.search_messages import GRID
from podium.sweep.values.slot_events import SuggestRequested

MAX_PARAMS = 1000  # of a trial
MAX_DISTRIBUTION = 16 << 10  # characters of one, as JSON


def check_definable(spec: SweepSpec, request: SuggestRequested, known: int) -> Parameter:
    """The parameter that a trial suggests; `known` is how many it has already.

    Raises `UserCodeError`, in the trial's own code, if it is invalid.
    """
    name = request.name
    if known >= MAX_PARAMS:
        raise UserCodeError(f"suggest {name}: a trial can have at most {MAX_PARAMS} parameters")
    if len(json.dumps(request.distribution)) > MAX_DISTRIBUTION:
        raise UserCodeError(
            f"suggest {name}: the choices take more than {MAX_DISTRIBUTION:,} characters as JSON; use short names"
        )
    if name in spec.parameters:
        raise UserCodeError(
            f"{name} is inactive in this trial (see `when` in the sweep file); suggest it only where it is active"
        )
    if spec.searched_by == GRID or spec.population is not None:
        raise UserCodeError(
            f"method: {spec.method_name} needs all parameters in the sweep file; add {name} under parameters"
        )
    parameter = _parameter(request)
    if spec.searched_by == BRUTE_FORCE and (complaint := not_enumerable_reason(parameter)) is not None:
        raise UserCodeError(f"suggest {name}: {complaint}")
    return parameter


def enqueued_value(request: SuggestRequested, value: Scalar) -> Scalar:
    """An enqueued value converted to the type of its parameter. Raises `UserCodeError` if it is out of range."""
    parameter = _parameter(request)
    if parameter.is_range and isinstance(value, int | float) and not isinstance(value, bool):
        value = int(value) if parameter.integer and float(value).is_integer() else float(value)
    if (complaint := parameter.invalid_reason(value)) is not None:
        raise UserCodeError(f"invalid enqueued value of {request.name}: {complaint}; correct or remove it")
    return value


def _parameter(request: SuggestRequested) -> Parameter:
    try:
        parameter = Parameter.model_validate(request.distribution)
        complaint = parameter.invalid_reason(request.value) if request.drawn else None
    except ValidationError as error:
        problems = problems_of(error.errors(), Parameter)
        raise UserCodeError(f"suggest {request.name}: {'; '.join(problem.message for problem in problems)}") from None
    except (ValueError, ArithmeticError) as error:  # ArithmeticError: a number that no float can represent
        raise UserCodeError(f"suggest {request.name}: invalid distribution: {error}") from None
    if parameter.is_custom_distribution or parameter.when:
        raise UserCodeError(f"suggest {request.name}: {request.distribution!r:.200} is not supported")
    if complaint is not None:
        raise UserCodeError(f"suggest {request.name}: {complaint}")
    return parameter
