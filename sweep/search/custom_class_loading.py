"""Imports, checks and constructs the sampler and pruner classes that sweep files name. Scheduler and search processes.

Clients that submit sweeps choose the imported classes. Only installed modules can be imported: no process that runs
this code has uploaded code on its path. Only subclasses of Optuna's base classes are called.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler

from podium.sweep.spec import builtin_catalog
from podium.sweep.values.errors import UnusableClassError

Built = TypeVar("Built", BaseSampler, BasePruner)


def load_sampler(reference: str, args: Mapping[str, Any], seed: int | None = None) -> BaseSampler:
    """A sampler; `seed` is passed if the class takes one and `args` has none. Raises `UnusableClassError`."""
    return _construct(reference, args, BaseSampler, seed)  # type: ignore[type-abstract]


def load_pruner(reference: str, args: Mapping[str, Any]) -> BasePruner:
    """A pruner. Raises `UnusableClassError`."""
    return _construct(reference, args, BasePruner)  # type: ignore[type-abstract]


def _construct(reference: str, args: Mapping[str, Any], base: type[Built], seed: int | None = None) -> Built:
    found = _load(reference, base)
    given = {name: _argument(value) for name, value in args.items()}
    parameters = _check_arguments(reference, found, given)
    if seed is not None and "seed" in parameters and "seed" not in given:
        given["seed"] = seed
    try:
        return found(**given)
    except Exception as error:
        raise UnusableClassError(f"{reference} cannot be constructed: {type(error).__name__}: {error}") from error


def _load(reference: str, base: type[Built]) -> type[Built]:
    module_name, _, name = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UnusableClassError(_not_found(module_name, error.name or module_name)) from error
    except (Exception, SystemExit) as error:
        raise UnusableClassError(f"import {module_name} raised {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if found is None:
        there = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)]
        hint = builtin_catalog.did_you_mean(name, there) if there else f"the module has no subclass of {base.__name__}"
        raise UnusableClassError(f"module {module_name} has no {name!r}; {hint}")
    if not isinstance(found, type) or not issubclass(found, base):
        kind = f"optuna.{'samplers' if base is BaseSampler else 'pruners'}.{base.__name__}"
        raise UnusableClassError(f"{reference} is not a subclass of {kind}")
    return found


def _not_found(module: str, missing: str) -> str:
    if module == missing or module.startswith(f"{missing}."):
        return f"package {missing!r} is not installed in the service's Python environment; install it with pip"
    return f"{module} imports {missing}, which is not installed in the service's Python environment"


def _argument(value: Any) -> Any:
    """A plain value, or the instance that `{sampler: …, args: …}` or `{pruner: …, args: …}` describes."""
    if not isinstance(value, Mapping) or len(value.keys() - {"args"}) != 1:
        return value
    args = value.get("args") or {}
    if isinstance(value.get("sampler"), str):
        return load_sampler(value["sampler"], args)
    return load_pruner(value["pruner"], args) if isinstance(value.get("pruner"), str) else value


def _check_arguments(reference: str, found: type, given: Mapping[str, Any]) -> Mapping[str, inspect.Parameter]:
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # of an extension module: its arguments are checked when it is called
        return {}
    try:
        signature.bind(**given)
    except TypeError as error:
        takes = ", ".join(signature.parameters) or "no arguments"
        raise UnusableClassError(f"{reference}: {error}; it takes {takes}") from None
    return signature.parameters
