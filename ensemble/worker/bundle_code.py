"""Imports functions from users' code bundles, isolated from each other; worker process."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from podium.sweep.networks.ensemble_network_adapter import Build
from podium.sweep.values.code_references import is_reference
from podium.sweep.values.errors import EnsembleError


@contextlib.contextmanager
def importable(folder: Path, *, alone: bool) -> Iterator[None]:
    """Context manager: modules of the folder can be imported within it.

    If it is the only folder in this process (`alone`), also afterwards, since a network may import modules when it
    runs. Otherwise its modules are removed on exit, so that modules of the same names are found in other folders.
    """
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if not alone:
            sys.path.remove(str(folder))
            for name in [name for name, module in sys.modules.items() if _is_in(module, folder)]:
                del sys.modules[name]


def load_function(folder: Path, reference: str) -> Build:
    """Import the function `module:function` from the folder. Raises `EnsembleError` if that fails."""
    name, _, attribute = reference.partition(":")
    if not is_reference(reference):
        raise EnsembleError(f"{reference!r} is not a function reference; expected module:function")
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise EnsembleError(f"cannot import {name} from {folder}: {type(error).__name__}: {error}") from error
    if not _is_in(module, folder):
        raise EnsembleError(f"module {name} of {folder} is shadowed by an installed module; rename it")
    found = getattr(module, attribute, None)
    if not callable(found):
        raise EnsembleError(f"module {name} of {folder} has no function {attribute!r}")
    build: Build = found
    return build


def _is_in(module: ModuleType | None, folder: Path) -> bool:
    """Whether a module or namespace package is from the folder.

    Reads `vars` only: some libraries' modules generate attributes on access.
    """
    known = vars(module) if isinstance(module, ModuleType) else {}
    try:
        places = [known.get("__file__"), *known.get("__path__", ())]
    except KeyError:  # a submodule of a namespace package whose import failed
        return False
    return any(isinstance(place, str) and Path(place).is_relative_to(folder) for place in places)
