"""Converts a script for Ray Tune or Optuna, or a JSON search space, to a sweep file document; a subprocess of the CLI.

`python -m podium.sweep.specfile.tuning_script_conversion FILE NAME` imports the script, which runs its top-level code,
and writes one JSON object: `{"document": {…}, "notes": […]}`, or `{"error": "…"}`. The script imports Ray or Optuna in
this process. A script that creates a Tuner under `if __name__ == "__main__":` is run as the main program, up to
`Tuner.fit`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from podium.sweep.specfile.ray_tune_space import Space, is_domain, is_grid, plain, space_of
from podium.sweep.values.errors import ConversionError

Json = dict[str, Any]
_GOALS = {"min": "minimize", "max": "maximize"}
_NAME_INSTEAD = '; to skip the code under `if __name__ == "__main__":`, name the search space: {}:NAME'
_LEARNING = ("OptunaSearch", "HyperOptSearch", "BayesOptSearch", "TuneBOHB", "AxSearch")


class _SearchStartedError(BaseException):
    """Raised where the script would start its search, to stop it there."""

    def __init__(self, tuner: Any = None) -> None:
        super().__init__()
        self.tuner = tuner


def convert(path: Path, name: str) -> Json:
    """The document and notes. `name`: the object of the script; if empty, the only one. Raises `ConversionError`."""
    if path.suffix == ".json":
        return _of_distributions(_from_json(path), {})
    as_main = not name and _has_guarded_tuner(path)
    module, tuner = _import(path, as_main=as_main)
    found = _named(module, name, path) if name else tuner or _only(module, path)
    if _is_tuner(found):
        return _of_tuner(found, module)
    return _of_dict(found, module)


def _import(path: Path, *, as_main: bool) -> tuple[ModuleType, Any]:
    """The module of the script, and the Tuner whose `fit` it called, if any."""
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    name = (
        path.stem if path.stem not in sys.modules else f"converted_{path.stem}"
    )  # the name may be that of a loaded module
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _stop_at_the_search(path)
    try:
        if as_main:
            _run_as_main(module, path)
        else:
            spec.loader.exec_module(module)
    except _SearchStartedError as started:
        return module, started.tuner
    except ModuleNotFoundError as error:
        raise ConversionError(f"{path} imports {error.name}, which is not installed here") from error
    except (Exception, SystemExit) as error:
        line = next(
            (f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename == str(path)), 0
        )
        words = f"{path}:{line}: cannot {'run' if as_main else 'import'} the script: {type(error).__name__}: {error}"
        raise ConversionError(words + (_NAME_INSTEAD.format(path.name) if as_main else "")) from error
    return module, None


def _run_as_main(module: ModuleType, path: Path) -> None:
    """Runs the script as `python FILE` does, without arguments."""
    module.__name__ = "__main__"
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module  # where dataclasses and pickle look up the module of a class
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))  # noqa: S102  the user's own script
    finally:
        sys.modules["__main__"] = before


def _stop_at_the_search(path: Path) -> None:
    """Makes the calls that start a search raise `_SearchStartedError`, and `ray.init` do nothing."""

    def started(*_: Any, **__: Any) -> None:
        raise _SearchStartedError

    def fit(tuner: Any) -> None:
        raise _SearchStartedError(tuner)

    source = path.read_text(errors="replace")
    if "ray" in source and importlib.util.find_spec("ray") is not None:
        tune = importlib.import_module("ray.tune")  # the script imports it anyway
        tune.Tuner.fit, tune.run = fit, started  # type: ignore[attr-defined]
        importlib.import_module("ray").init = lambda *_, **__: None  # type: ignore[attr-defined]
    if "optuna" in source and importlib.util.find_spec("optuna") is not None:
        importlib.import_module("optuna").Study.optimize = started


# Selecting the object.


def _named(module: ModuleType, name: str, path: Path) -> Any:
    if not hasattr(module, name):
        there = ", ".join(key for key, _ in _candidates(module))
        known = f"; known: {there}" if there else _guarded(path)
        raise ConversionError(f"{path} has no top-level object {name!r}{known}")
    found = getattr(module, name)
    if not isinstance(found, Mapping) and not _is_tuner(found):
        raise ConversionError(f"{name} must be a search space (dict) or a Tuner, got {type(found).__name__}")
    return found


def _only(module: ModuleType, path: Path) -> Any:
    found = dict(_candidates(module))
    tuners = [value for value in found.values() if _is_tuner(value)]
    if len(tuners) == 1:
        return tuners[0]
    if not found:
        words = "has no top-level search space: a dict of tune.* objects or Optuna distributions, or a Tuner"
        raise ConversionError(f"{path} {words}{_guarded(path)}")
    if len(found) > 1:
        raise ConversionError(
            f"{path} has several search spaces: {', '.join(found)}; name one: {path.name}:{next(iter(found))}"
        )
    return next(iter(found.values()))


def _candidates(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if _is_tuner(value) or (isinstance(value, Mapping) and any(map(_is_searched, _leaves(value)))):
            yield name, value


def _leaves(block: Mapping[Any, Any]) -> Iterator[Any]:
    for value in block.values():
        if isinstance(value, Mapping) and not is_grid(value):
            yield from _leaves(value)
        else:
            yield value


def _is_searched(value: Any) -> bool:
    return is_domain(value) or is_grid(value) or _is_distribution(value)


def _is_distribution(value: Any) -> bool:
    return any(k.__module__ == "optuna.distributions" and k.__name__ == "BaseDistribution" for k in type(value).__mro__)


def _is_tuner(value: Any) -> bool:
    return type(value).__module__.startswith("ray.tune") and type(value).__name__ == "Tuner"


def _guarded(path: Path) -> str:
    """An explanation if the search space may be in code that an import does not run."""
    tree = ast.parse(path.read_bytes())
    if guards := _guards(tree):
        words = f'. Code under `if __name__ == "__main__":` (line {guards[0]})'
        return f"{words} only runs for a Tuner; move the search space above it"
    if any(isinstance(node, ast.FunctionDef) for node in tree.body):
        return ". A search space inside a function is not found; move it to the top level"
    return ""


def _guards(tree: ast.Module) -> list[int]:
    """The lines of `if __name__ == "__main__":`."""
    return [node.lineno for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.dump(node.test)]


def _has_guarded_tuner(path: Path) -> bool:
    """Whether a script creates a Tuner, possibly under a main guard."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return False  # reported by the import
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = {getattr(function, "attr", getattr(function, "id", "")) for function in calls}
    return "Tuner" in names and bool(_guards(tree))


# Conversion to a document.


def _of_dict(found: Mapping[str, Any], module: ModuleType) -> Json:
    """Uses the `TuneConfig` of the module, if there is exactly one."""
    if any(map(_is_distribution, _leaves(found))):
        return _of_distributions(found, {})
    space = space_of(found)
    configs = [value for value in vars(module).values() if type(value).__name__ == "TuneConfig"]
    schedulers = [value for value in vars(module).values() if _is_scheduler(value)]
    document, notes = _of_config(space, configs[0] if len(configs) == 1 else None, schedulers)
    return {"document": {**document, "parameters": space.parameters}, "notes": [*space.notes, *notes]}


def _of_tuner(tuner: Any, module: ModuleType) -> Json:
    inner = tuner._local_tuner
    space = space_of(inner._param_space or {})
    if not space.parameters:
        raise ConversionError("the Tuner has no param_space")
    document, notes = _of_config(space, inner._tune_config, [])
    function = _function(inner._trainable, module)
    program = {} if function is None else {"program": {"function": function, "code": "."}}
    found = {**document, "parameters": space.parameters, **program}
    return {"document": found, "notes": [*space.notes, *notes]}


def _function(trainable: Any, module: ModuleType) -> str | None:
    """MODULE:FUNCTION of the Tuner's trainable, if it is a top-level function of the script."""
    name = getattr(trainable, "__name__", "")
    if not inspect.isfunction(trainable) or vars(module).get(name) is not trainable:
        return None
    return f"{Path(str(module.__file__)).stem}:{name}"


def _of_config(space: Space, config: Any, schedulers: list[Any]) -> tuple[Json, list[str]]:
    notes: list[str] = []
    document: Json = {"method": _method(space, config, notes)}
    scheduler = getattr(config, "scheduler", None) or (schedulers[0] if len(schedulers) == 1 else None)
    metric = getattr(config, "metric", None) or getattr(scheduler, "_metric", None)
    mode = getattr(config, "mode", None) or getattr(scheduler, "_mode", None)
    document["metric"] = {key: value for key, value in (("name", metric), ("goal", _GOALS.get(str(mode)))) if value}
    if scheduler is not None:
        document |= _early_terminate(scheduler, notes)
    document |= _run_cap(space, int(getattr(config, "num_samples", 0) or 0), notes)
    if concurrent := getattr(config, "max_concurrent_trials", None):
        document["resources"] = {"max_concurrent": int(concurrent)}
    if budget := getattr(config, "time_budget_s", None):
        document["budget"] = {"wall_s": float(getattr(budget, "total_seconds", lambda: budget)())}
    return document, notes


def _method(space: Space, config: Any, notes: list[str]) -> str:
    searched = {name for name, parameter in space.parameters.items() if "value" not in parameter}
    if searched and searched <= space.grid:
        return "grid"
    if space.grid:
        notes.append(
            f"parameters: {', '.join(sorted(space.grid))} of tune.grid_search become choices, next to ranges; "
            "Ray would try each combination num_samples times"
        )
    search: Any = getattr(config, "search_alg", None)
    if search is None:
        return "random"
    drawn = any("distribution" in parameter for parameter in space.parameters.values())
    learns = type(search).__name__ in _LEARNING and not drawn
    notes.append(f"method: {type(search).__name__} is converted to {'tpe' if learns else 'random'}")
    return "tpe" if learns else "random"


def _is_scheduler(value: Any) -> bool:
    return any(kind.__name__ == "TrialScheduler" for kind in type(value).__mro__)


def _early_terminate(scheduler: Any, notes: list[str]) -> Json:
    """ASHA's grace period and reduction factor; other schedulers are ignored, with a note."""
    brackets: Any = getattr(scheduler, "_brackets", None)
    eta = getattr(scheduler, "_reduction_factor", 0)
    if type(scheduler).__name__ == "AsyncHyperBandScheduler" and len(brackets or ()) == 1 and float(eta).is_integer():
        notes.append(f"early_terminate: rungs continue after max_t ({scheduler._max_t}), where Ray ends a trial")
        return {"early_terminate": {"type": "asha", "min_iter": int(brackets[0]._rungs[-1][0]), "eta": int(eta)}}
    if type(scheduler).__name__ != "FIFOScheduler":
        ignored = type(scheduler).__name__
        notes.append(f"early_terminate: {ignored} is ignored; docs/reference/search.md lists the supported types")
    return {}


def _run_cap(space: Space, samples: int, notes: list[str]) -> Json:
    """Ray runs each combination of a grid `num_samples` times; without a grid, `num_samples` configurations."""
    size = 1
    for name in space.grid:
        size *= len(space.parameters[name]["values"])
    if samples < 0:
        notes.append("run_cap: num_samples=-1 is unlimited; the sweep has Podium's default, 60 trials")
        return {}
    if space.grid and samples > 1 and all(name in space.grid or "value" in p for name, p in space.parameters.items()):
        notes.append(f"run_cap: each point of the grid runs once, not num_samples={samples} times")
        samples = 1
    return {"run_cap": size * (samples or 1)} if samples or space.grid else {}


# Optuna's distributions.


def _from_json(path: Path) -> dict[str, Any]:
    from podium.sweep.studies.study_conversion import distribution_from_json

    try:
        written = json.loads(path.read_text())
    except ValueError as error:
        raise ConversionError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(written, dict) or not written:
        raise ConversionError(f"{path} must be a JSON object of distributions by parameter name")
    return {name: distribution_from_json(name, value) for name, value in written.items()}


def _of_distributions(found: Mapping[str, Any], document: Json) -> Json:
    from podium.sweep.studies.study_conversion import parameter_of

    parameters: Json = {}
    for name, distribution in found.items():
        if isinstance(distribution, Mapping):
            raise ConversionError(f"{name}: Optuna distributions cannot be nested; use a flat dict")
        if not _is_distribution(distribution):
            parameters[str(name)] = {"value": plain(distribution, str(name))}
            continue
        for choice in getattr(distribution, "choices", ()):
            plain(choice, str(name))
        parameters[str(name)] = parameter_of(distribution)
    return {"document": {"method": "tpe", "metric": {}, **document, "parameters": parameters}, "notes": []}


def main() -> None:
    """Writes the answer to standard output; the script's own output is redirected to standard error."""
    warnings.simplefilter("ignore")
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        try:
            answer = convert(Path(sys.argv[1]), sys.argv[2])
        except ConversionError as error:
            answer = {"error": str(error)}
        json.dump(answer, answers)


if __name__ == "__main__":
    main()
