"""The keys `after` and `fix_from` of the sweep file: sweeps that must end first; CLI, api process and scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.strict_model import Model, field_error
from podium.sweep.values.attempt_assignment import Params, Scalar

MAX_PREDECESSORS = 100
SweepReference = int | str  # a name becomes an id when the sweep is submitted


class FixFrom(Model):
    """Parameters that are not searched: they get the values of the best trial of an earlier sweep, when it ends."""

    sweep: SweepReference = Field(description="the earlier sweep, by id or name; implies `after`")
    parameters: list[Annotated[str, Field(min_length=1)]] = Field(
        min_length=1,
        max_length=1000,
        description="names of the parameters; the earlier value must be within their range",
    )


def check_predecessors(
    after: Sequence[SweepReference],
    fix_from: FixFrom | None,
    parameters: Mapping[str, Parameter],
    enqueue: Sequence[Mapping[str, Scalar]],
) -> None:
    """Raises an error that pydantic reports at the key that is wrong."""
    for index, reference in enumerate(after):
        _check_reference(reference, "after", str(index))
        if reference in after[:index]:
            raise field_error(f"duplicate sweep {reference!r}; remove one", "after", str(index))
    if fix_from is None:
        return
    _check_reference(fix_from.sweep, "fix_from", "sweep")
    for index, name in enumerate(fix_from.parameters):
        where = ("fix_from", "parameters", str(index))
        if name not in parameters:
            hint = builtin_catalog.did_you_mean(name, parameters)
            raise field_error(f"unknown parameter {name!r}; {hint}; add it under parameters", *where)
        if name in fix_from.parameters[:index]:
            raise field_error(f"duplicate parameter {name!r}; remove one", *where)
    for index, configuration in enumerate(enqueue):
        for name in fix_from.parameters:
            if name in configuration:
                raise field_error("its value is taken by fix_from; remove it here", "enqueue", str(index), name)


def _check_reference(reference: SweepReference, *where: str) -> None:
    if isinstance(reference, int) and reference < 1:
        raise field_error(f"must be the id or the name of a sweep, got {reference}", *where)
    if reference == "":
        raise field_error("must not be empty; write the id or the name of a sweep", *where)


def with_constants(parameters: Mapping[str, Parameter], values: Params) -> dict[str, Parameter]:
    """The parameters with some of them constant.

    A condition on a constant is decided: it is removed if it holds, and otherwise the parameter is removed, with those
    that depend on it.
    """
    removed: set[str] = set()
    found: dict[str, Parameter] = {}
    pending = dict(parameters)
    while pending:
        decided = [name for name, parameter in pending.items() if not set(parameter.when or {}) & pending.keys()]
        for name in decided or list(pending):  # a cycle cannot be decided; the file with one was refused
            parameter = pending.pop(name)
            if any(_never_holds(other, wanted, values, removed) for other, wanted in (parameter.when or {}).items()):
                removed.add(name)
                continue
            found[name] = _decided(name, parameter, values)
    return {name: found[name] for name in parameters if name in found}


def _never_holds(other: str, wanted: Scalar | list[Scalar], values: Params, removed: set[str]) -> bool:
    allowed = wanted if isinstance(wanted, list) else [wanted]
    return other in removed or (other in values and values[other] not in allowed)


def _decided(name: str, parameter: Parameter, values: Params) -> Parameter:
    """The parameter as a constant if it has a value, without conditions that hold."""
    conditions = parameter.when or {}
    left = {other: wanted for other, wanted in conditions.items() if other not in values}
    if name not in values and left == conditions:
        return parameter
    document = {"value": values[name]} if name in values else parameter.model_dump(exclude_unset=True)
    document.pop("when", None)
    return Parameter.model_validate({**document, "when": left} if left else document)
