"""Loads the function of a sweep, calls it with a trial or a config, and reports what it yields; trial process."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

from podium.sweep.trial_process.number_conversion import STEPS, named_step, number_of
from podium.sweep.trial_process.ray_tune_compatibility import TuneSession
from podium.sweep.trial_process.trial_handle import Pruned, Trial
from podium.sweep.values.code_references import instance_instead, is_reserved
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.nested_parameters import flat_and_nested

_CONFIGS = ("config", "cfg")  # names of the argument in programs for Ray Tune


def load(spec: Mapping[str, Any], code: str | None) -> Callable[[Trial], Any]:
    """Import the function of a sweep; returns it as a function of the trial.

    Raises `UserCodeError` if it does not exist or takes no argument, and any error of the import.
    """
    reference = spec["function"]
    tune = TuneSession()
    tune.install()
    function = load_callable(reference, code)
    name = reference.partition(":")[2]
    takes_nothing = "wandb" in sys.modules and _takes_nothing(function)  # as `wandb.agent` calls it
    wants_config = not takes_nothing and _wants_config(function, name, spec.get("argument"))

    def program(trial: Trial) -> Any:
        tune.begin(trial)
        arguments = () if takes_nothing else (flat_and_nested(trial.params) if wants_config else trial,)
        return tune.end(_result_of(function(*arguments), trial))

    return program


def load_callable(reference: str, code: str | None) -> Callable[..., Any]:
    """The callable `module:name` in the user's code. Raises `UserCodeError` if it does not exist."""
    module_name, _, name = reference.partition(":")
    if is_reserved(module_name):
        raise UserCodeError(f"{module_name}: the name podium is reserved; rename your module")
    if code is not None and code not in sys.path:
        sys.path.insert(0, code)
    module = _module(module_name)
    function = getattr(module, name, None)
    if not callable(function):
        _check_not_hidden(module, module_name, code)
        if function is None:
            raise UserCodeError(f"{module_name}.py has no function {name!r}")
        found = f"{type(function).__name__} {function!r:.40}"
        raise UserCodeError(f"{module_name}.py: {name!r} is not a function, but {found}")
    if isinstance(function, type):
        raise UserCodeError(f"{module_name}.py: {instance_instead(name)}")
    return cast(Callable[..., Any], function)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
        raise UserCodeError(f"no module named {error.name!r} in the code folder") from None
    except SystemExit as error:
        raise UserCodeError(
            f"importing {name} calls sys.exit({error.code!r:.40}); move the code under `if __name__ == '__main__':`, "
            "or run it as a script with program.command"
        ) from None


def _check_not_hidden(module: ModuleType, name: str, code: str | None) -> None:
    """Raise `UserCodeError` if another module of this name was imported instead of the user's."""
    if code is None:
        return
    file = getattr(module, "__file__", None)
    wanted = Path(code, *name.split("."))
    if wanted.with_suffix(".py").exists() and (file is None or not Path(file).is_relative_to(code)):
        raise UserCodeError(f"{name!r} is also the name of another module ({file or 'built-in'}); rename yours")


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        return not inspect.signature(function).parameters
    except (ValueError, TypeError):  # for example, written in C
        return False


def _wants_config(function: Callable[..., Any], name: str, argument: str | None) -> bool:
    """Whether the function takes the parameters instead of the trial. Raises `UserCodeError`."""
    first = check_one_argument(function, name, "trial")
    return argument == "config" or (argument is None and first in _CONFIGS)


def check_one_argument(function: Callable[..., Any], name: str, called: str) -> str | None:
    """The name of a function's first parameter; None if it is unknown.

    Raises `UserCodeError` unless the function can be called with one argument, named `called` in the message.
    """
    if isinstance(function, FunctionType) and not vars(function):  # nothing declares another signature
        code = function.__code__
        needed_count = code.co_argcount - len(function.__defaults__ or ())
        if code.co_argcount and needed_count <= 1 and not code.co_kwonlyargcount:
            return code.co_varnames[0]  # without `inspect`, a tenth of the time until the function is called
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # for example, written in C
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if not positional:
        config = f" or `def {name}(config):`" if called == "trial" else ""
        raise UserCodeError(f"{name} takes no argument; write `def {name}({called}):`{config}")
    needed = [p.name for p in positional[1:] if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    needed += [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if needed:
        raise UserCodeError(
            f"{name} requires {', '.join(needed)} in addition to its first argument; add default values"
        )
    return positional[0].name


def _result_of(result: Any, trial: Trial) -> Any:
    """The result of a function; a generator is run to its end, and its values are reported."""
    if inspect.iscoroutine(result):
        result.close()
        raise UserCodeError("the function is `async`; write a synchronous one")
    return report_yielded(result, trial) if isinstance(result, Generator) else result


def report_yielded(reports: Generator[Any, None, Any], trial: Trial) -> Any:
    """Report what a generator yields; its return value, or else the last yielded value. Raises `Pruned`."""
    last: Any = None
    early = trial.early_finish
    while True:
        try:
            values = next(reports)
        except StopIteration as end:
            return early.reduced_values(last) if end.value is None else end.value
        last = {**last, **values} if isinstance(last, Mapping) and isinstance(values, Mapping) else values
        early.next_step = report_values(values, early.next_step, trial) + 1
        if trial.should_prune():
            reports.close()
            raise Pruned


def report_values(values: Any, step: int, trial: Trial) -> int:
    """Report a number, or metrics by name; returns the step."""
    if not isinstance(values, Mapping):
        trial.report(values, step)
        return step
    named = named_step(values)
    step = step if named is None else named
    others = {
        str(key): number_of(value)
        for key, value in values.items()
        if key != trial.metric and (key not in STEPS or trial.early_finish.uses_metric(key))
    }
    if others := {key: number for key, number in others.items() if number is not None}:
        trial.log(others, step)
    if trial.metric in values:
        trial.report(values[trial.metric], step)
    return step


def is_pruned(error: BaseException) -> bool:
    """Whether an exception is `Pruned`, or Optuna's `TrialPruned`, by name: Optuna is not imported here."""
    return isinstance(error, Pruned) or any(
        kind.__name__ == "TrialPruned" and kind.__module__.split(".")[0] == "optuna" for kind in type(error).__mro__
    )
