"""Summarizes a sweep spec as text and tables: search space, grid size, limits; CLI and api process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.sweep.spec.grid import MAX_POINTS, Grid, GridError
from podium.sweep.spec.predecessors import SweepReference
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Scalar

_SHOWN = 12  # choices in one cell


def search_space(spec: SweepSpec) -> list[dict[str, Any]]:
    """A table row for each parameter, in the order in which values are chosen."""
    return [
        {
            "name": name,
            "kind": kind(parameter),
            "range": value_range(parameter),
            "scale": scale(parameter),
            "condition": condition(parameter),
        }
        for name, parameter in spec.ordered()
    ]


def grid_size(spec: SweepSpec) -> int | None:
    """The number of configurations; None if a range is continuous or there are too many to count."""
    if not spec.parameters or any(parameter.count() is None for parameter in spec.parameters.values()):
        return None
    try:
        size = Grid(spec.parameters).size
    except GridError:
        return None
    return size if size <= MAX_POINTS else None


def kind(parameter: Parameter) -> str:
    """The kind of a parameter: constant, choice, integer, float, or the name of a distribution."""
    if parameter.distribution is not None:
        return parameter.distribution
    if parameter.values is not None:
        return "ordered choice" if parameter.ordered else "choice"
    if not parameter.is_range:
        return "constant"
    return "integer" if parameter.integer else "float"


def value_range(parameter: Parameter) -> str:
    """The range, or the choices."""
    if parameter.is_range:
        return f"{_value(parameter.min)} to {_value(parameter.max)}"
    if parameter.distribution is not None:
        shape = ("a", "b") if parameter.distribution.endswith("beta") else ("mu", "sigma")
        return ", ".join(f"{key} {getattr(parameter, key):g}" for key in shape)
    choices = parameter.choices() or []
    more = f", … ({len(choices):,} in all)" if len(choices) > _SHOWN else ""
    return ", ".join(_value(choice) for choice in choices[:_SHOWN]) + more


def scale(parameter: Parameter) -> str:
    """The scale or step of a range."""
    step = parameter.step if parameter.step is not None else parameter.q
    if parameter.probabilities is not None:
        return "weighted"
    return "log" if parameter.log else "" if step is None else f"step {step:g}"


def condition(parameter: Parameter) -> str:
    """The condition under which a parameter is active."""
    parts = []
    for name, wanted in (parameter.when or {}).items():
        values = wanted if isinstance(wanted, list) else [wanted]
        parts.append(f"{name} = {' or '.join(_value(value) for value in values)}")
    return ", ".join(parts)


def _value(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def describe_sweep(about: Mapping[str, Any]) -> str:
    """A one-line summary: method, objectives, number of trials, size of the space."""
    early = "" if about["early_terminate"] == "none" else f", early termination {about['early_terminate']}"
    size = about["grid_size"]
    points = "a continuous space" if size is None else f"{size:,} configurations"
    if not about["space"]:
        points = "parameters that the program suggests"
    return (
        f"{about['name']}: {about['method']}, seed {about['seed']}, for {' and '.join(about['metrics'])}; "
        f"up to {about['run_cap']:,} trials of {points}{early}"
    )


def describe_terms(spec: SweepSpec) -> dict[str, str]:
    """Budget, retention, node, earlier sweeps and warm start, as far as the file sets them."""
    budget, keep, target, fixed = spec.budget, spec.keep, spec.metric.target, spec.fix_from
    ends = [f"{key} {value:,g}" for key in ("wall_s", "device_s") if (value := getattr(budget, key)) is not None]
    if budget.plateau is not None:
        ends.append(f"{budget.plateau.trials:,} trials without improvement")
    if target is not None:
        ends.append(f"{spec.metric.name} {target:g}")
    kept = [] if keep.checkpoints == "none" else [f"checkpoints: {keep.checkpoints}"]
    kept += [] if keep.models is None else [f"the weights of the {keep.models:,} best trials"]
    said = {
        "budget": f"ends early at {' or '.join(ends)}" if ends else "",
        "keep": ", ".join(kept),
        "node": f"all trials run on {spec.resources.node}" if spec.resources.node else "",
        "after": f"starts when {_sweeps(spec.after)} finished" if spec.after else "",
        "fix_from": "" if fixed is None else f"{', '.join(fixed.parameters)} of the best trial of sweep {fixed.sweep}",
        "warm_start": f"from the trials of sweep {', '.join(map(str, spec.warm_start))}" if spec.warm_start else "",
    }
    return {key: words for key, words in said.items() if words}


def _sweeps(references: Sequence[SweepReference]) -> str:
    names = ", ".join(str(each) if isinstance(each, int) else repr(each) for each in references)
    return f"sweep {names} has" if len(references) == 1 else f"sweeps {names} have"


def describe_devices(plan: Mapping[str, Any]) -> str:
    """How many trials run concurrently, and on which devices."""
    slots = f"{plan['count']} {plan['kind']} slot{'' if plan['count'] == 1 else 's'}"
    where = f"of the service at {plan['of']}" if plan["of"] else "on this machine; no service is running"
    why = f" ({plan['why']})" if plan["why"] else ""
    node = f", resources.node: {plan['node']}" if plan.get("node") else ""
    if not plan["at_once"] and plan.get("each", 1) > 1 and plan["count"] and not node:
        return f"{slots} {where}{why}, but each trial needs {plan['each']}; none starts until there are enough"
    if not plan["at_once"]:
        return f"{slots} {where}{why}, but none for resources.device: {plan['wanted']}{node}; no trial would start"
    trials = "1 trial" if plan["at_once"] == 1 else f"{plan['at_once']} trials"
    each = f" of {plan['each']} devices" if plan.get("each", 1) > 1 else ""
    there = f" on {plan['node']}" if plan.get("node") else ""
    return f"{slots} {where}{why}: {trials}{each} at a time{there}"
