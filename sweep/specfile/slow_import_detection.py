"""Finds slow packages that user code imports, by parsing it without importing anything; CLI."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

# Packages that take 0.3 s or more to import from a warm disk; torch and numpy are preloaded for every trial.
SLOW_PACKAGES = frozenset(
    {
        "catboost",
        "datasets",
        "jax",
        "keras",
        "lightgbm",
        "lightning",
        "matplotlib",
        "pandas",
        "pytorch_lightning",
        "ray",
        "scipy",
        "sklearn",
        "statsmodels",
        "tensorflow",
        "timm",
        "torchvision",
        "transformers",
        "wandb",
        "xgboost",
    }
)
_MOST_FILES = 50


def slow_imports(function: str, code: Path, preload: Sequence[str]) -> list[str]:
    """The modules of slow, installed packages that `module:function` imports, directly or through its own modules.

    Packages in `preload` are excluded.
    """
    there = {name.partition(".")[0] for name in preload}
    found = dict.fromkeys(
        name
        for name in _imported(function.partition(":")[0], code)
        if (top := name.partition(".")[0]) in SLOW_PACKAGES and top not in there and importlib.util.find_spec(top)
    )
    return list(found)


def _imported(module: str, code: Path) -> Iterator[str]:
    """The modules that a module of the code folder imports, directly or through other modules of the folder."""
    waiting, seen = [module], {module}
    while waiting and len(seen) <= _MOST_FILES:
        file = _file(waiting.pop(0), code)
        if file is None:
            continue
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        for name in _names(tree.body, code):
            if _file(name, code) is None:
                yield name
            elif name not in seen:
                seen.add(name)
                waiting.append(name)


def _names(body: Sequence[ast.stmt], code: Path) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield from _from(statement.module, [alias.name for alias in statement.names], code)
        elif isinstance(statement, ast.Try):
            yield from _names(statement.body, code)


def _from(module: str, names: Sequence[str], code: Path) -> list[str]:
    """`from ray import tune` imports ray.tune; `from ray.tune import Tuner` imports ray.tune, too."""
    top, *inner = module.split(".")
    root = code / top
    if not root.is_dir() and top in SLOW_PACKAGES and (spec := importlib.util.find_spec(top)) is not None:
        root = Path(next(iter(spec.submodule_search_locations or ()), root))
    folder = root.joinpath(*inner)
    submodules = [name for name in names if (folder / f"{name}.py").is_file() or (folder / name).is_dir()]
    return [f"{module}.{name}" for name in submodules] or [module]


def _file(module: str, code: Path) -> Path | None:
    path = code.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
