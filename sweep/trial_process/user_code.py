"""Loads a user's function, calls it with what it wants, and understands what it returns; trial process."""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from podium.sweep.trial_process.ray_tune import TuneSession
from podium.sweep.trial_process.report_values import STEPS, named_step, number_of
from podium.sweep.trial_process.trial_handle import Pruned, Trial
from podium.sweep.values.code_references import instance_instead, is_reserved
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.nested_params import flat_and_nested

_CONFIGS = ("config", "cfg")  # as Ray Tune's users call it


def load(spec: Mapping[str, Any], code: str | None) -> Callable[[Trial], Any]:
    """The function of a sweep, as one of the trial; what the user's modules do on import is done here.

    Raises `UserCodeError` when it is not there or takes no argument, and whatever the import raises.
    """
    reference = spec["function"]
    tune = TuneSession()
    tune.install()
    function = named(reference, code)
    name = reference.partition(":")[2]
    takes_nothing = "wandb" in sys.modules and _takes_nothing(function)  # as `wandb.agent` calls it
    wants_config = not takes_nothing and _wants_config(function, name, spec.get("argument"))

    def program(trial: Trial) -> Any:
        tune.begin(trial)
        arguments = () if takes_nothing else (flat_and_nested(trial.params) if wants_config else trial,)
        return tune.end(_followed(function(*arguments), trial))

    return program


def named(reference: str, code: str | None) -> Callable[..., Any]:
    """What `module:name` names in the user's code. Raises `UserCodeError` where that cannot be called with a trial."""
    module_name, _, name = reference.partition(":")
    if is_reserved(module_name):
        raise UserCodeError(f"{module_name}: the name podium is reserved; rename your module")
    if code is not None and code not in sys.path:
        sys.path.insert(0, code)
    module = _module(module_name)
    function = getattr(module, name, None)
    if not callable(function):
        _check_not_hidden(module, module_name, code)
        what = "no function" if function is None else f"{type(function).__name__} {function!r:.40}, no function,"
        raise UserCodeError(f"{module_name}.py has {what} {name!r}")
    if isinstance(function, type):
        raise UserCodeError(f"{module_name}.py: {instance_instead(name)}")
    found: Callable[..., Any] = function
    return found


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


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        return not inspect.signature(function).parameters
    except (ValueError, TypeError):  # written in C, say
        return False


def _wants_config(function: Callable[..., Any], name: str, argument: str | None) -> bool:
    """Whether the function gets the values of the parameters, and not the trial. Raises `UserCodeError`."""
    first = check_one_argument(function, name, "trial")
    return argument == "config" or (argument is None and first in _CONFIGS)


def check_one_argument(function: Callable[..., Any], name: str, called: str) -> str | None:
    """The name of a function's first parameter, None where that cannot be known. Raises `UserCodeError`.

    It is called with one argument; `called` is what to call that in the message.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # written in C, say
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if not positional:
        config = f" or `def {name}(config):`" if called == "trial" else ""
        raise UserCodeError(f"{name} takes no argument; write `def {name}({called}):`{config}")
    needed = [p.name for p in positional[1:] if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    needed += [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if needed:
        raise UserCodeError(f"{name} wants {', '.join(needed)} beside its first argument; give them a default")
    return positional[0].name


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
            return trial.early_finish.chosen(last) if end.value is None else end.value
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
    named = named_step(said)
    step = step if named is None else named
    others = {
        str(key): number_of(value)
        for key, value in said.items()
        if key != trial.metric and (key not in STEPS or trial.early_finish.watches(key))
    }
    if others := {key: number for key, number in others.items() if number is not None and math.isfinite(number)}:
        trial.log(others, step)
    if trial.metric in said:
        trial.report(said[trial.metric], step)
    return step


def is_pruned(error: BaseException) -> bool:
    """Whether an exception says that the trial gave up: ours, or Optuna's, which is not imported for that."""
    return isinstance(error, Pruned) or any(
        kind.__name__ == "TrialPruned" and kind.__module__.split(".")[0] == "optuna" for kind in type(error).__mro__
    )
