"""Loads a user's function, calls it with what it wants, and understands what it returns; trial process."""

from __future__ import annotations

import importlib
import inspect
import math
import operator
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sweep.errors import UserCodeError
from sweep.handle import Pruned, Trial
from sweep.references import is_reserved

_CONFIGS = ("config", "cfg")  # as Ray Tune's users call it
_STEPS = ("step", "epoch", "training_iteration")


def load(spec: Mapping[str, Any], code: str | None) -> Callable[[Trial], Any]:
    """The function of a sweep, as one of the trial; what the user's modules do on import is done here.

    Raises `UserCodeError` when it is not there or takes no argument, and whatever the import raises.
    """
    module_name, _, name = spec["function"].partition(":")
    if is_reserved(module_name):
        raise UserCodeError(f"{module_name}: the names sweep and ensemble are Podium's own; rename your module")
    if code is not None:
        sys.path.insert(0, code)
    module = _module(module_name)
    function = getattr(module, name, None)
    if not callable(function):
        _check_not_hidden(module, module_name, code)
        what = "no function" if function is None else f"{type(function).__name__} {function!r:.40}, no function,"
        raise UserCodeError(f"{module_name}.py has {what} {name!r}")
    wants_config = _wants_config(function, name, spec.get("argument"))
    return lambda trial: _followed(function(dict(trial.params) if wants_config else trial), trial)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
        raise UserCodeError(f"there is no module {error.name!r} in the code folder") from None
    except SystemExit as error:
        raise UserCodeError(
            f"{name} ends the process when it is imported, with sys.exit({error.code!r:.40}); put what it does under "
            "`if __name__ == '__main__':`, or run it as a script by program.command"
        ) from None


def _check_not_hidden(module: ModuleType, name: str, code: str | None) -> None:
    """Raises where another module of that name was found before the user's."""
    if code is None:
        return
    file = getattr(module, "__file__", None)
    wanted = Path(code, *name.split("."))
    if wanted.with_suffix(".py").exists() and (file is None or not Path(file).is_relative_to(code)):
        raise UserCodeError(f"{name!r} is the name of another module ({file or 'built in'}), too; rename yours")


def _wants_config(function: Callable[..., Any], name: str, argument: str | None) -> bool:
    """Whether the function gets the values of the parameters, and not the trial. Raises `UserCodeError`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # written in C, say
        return argument == "config"
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if not positional:
        raise UserCodeError(f"{name} takes no argument; write `def {name}(trial):` or `def {name}(config):`")
    needed = [p.name for p in positional[1:] if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    needed += [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if needed:
        raise UserCodeError(f"{name} wants {', '.join(needed)} beside its first argument; give them a default")
    return argument == "config" or (argument is None and positional[0].name in _CONFIGS)


def _followed(result: Any, trial: Trial) -> Any:
    """What a function returned; a generator is followed to its end, and what it yields is reported."""
    if inspect.iscoroutine(result):
        result.close()
        raise UserCodeError("the function is `async`; write a plain one")
    return _follow(result, trial) if isinstance(result, Generator) else result


def _follow(reports: Generator[Any, None, Any], trial: Trial) -> Any:
    """What it returns, or else what it yielded last. Raises `Pruned` when the trial is to give up."""
    last: Any = None
    step = 0
    while True:
        try:
            said = next(reports)
        except StopIteration as end:
            return last if end.value is None else end.value
        last = {**last, **said} if isinstance(last, Mapping) and isinstance(said, Mapping) else said
        step = _report(said, step, trial) + 1
        if trial.should_prune():
            reports.close()
            raise Pruned


def _report(said: Any, step: int, trial: Trial) -> int:
    """Report what a generator yielded: a number, or metrics by name; returns the step."""
    if not isinstance(said, Mapping):
        trial.report(said, step)
        return step
    step = next((found for key in _STEPS if (found := _whole(said.get(key))) is not None), step)
    others = {str(key): _number(value) for key, value in said.items() if key != trial.metric and key not in _STEPS}
    if others := {key: number for key, number in others.items() if number is not None}:
        trial.log(others, step)
    if trial.metric in said:
        trial.report(said[trial.metric], step)
    return step


def is_pruned(error: BaseException) -> bool:
    """Whether an exception says that the trial gave up: ours, or Optuna's, which is not imported for that."""
    return isinstance(error, Pruned) or any(
        kind.__name__ == "TrialPruned" and kind.__module__.split(".")[0] == "optuna" for kind in type(error).__mro__
    )


def _whole(value: Any) -> int | None:
    """A whole number of Python, numpy or torch; None for anything else."""
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        return None


def _number(value: Any) -> float | None:
    """A finite number of Python, numpy or torch, or in a tensor of one; None for anything else."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # torch raises the last of many values
        return None
    return number if math.isfinite(number) else None
