"""Functions imported from users' code, several bundles beside each other without one seeing another's; worker."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from podium.sweep.networks.flat_input import Build
from podium.sweep.values.code_references import is_reference
from podium.sweep.values.errors import EnsembleError


@contextlib.contextmanager
def importable(folder: Path, *, alone: bool) -> Iterator[None]:
    """While this lasts, modules of the folder can be imported.

    Where it is the only one in this process, also afterwards: a network may import as it runs. Where it is not, its
    modules are forgotten, so that another folder's of the same names are found.
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
    """The function `module:function` of the folder. Raises `EnsembleError` where that cannot be imported."""
    name, _, attribute = reference.partition(":")
    if not is_reference(reference):
        raise EnsembleError(f"{reference!r} is no function of a user's code")
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise EnsembleError(f"{name} of {folder} cannot be imported: {type(error).__name__}: {error}") from error
    if not _is_in(module, folder):
        raise EnsembleError(f"{name} is another module here than that of {folder}; rename it")
    found = getattr(module, attribute, None)
    if not callable(found):
        raise EnsembleError(f"{name} of {folder} has no function {attribute!r}")
    build: Build = found
    return build


def _is_in(module: ModuleType | None, folder: Path) -> bool:
    """Whether a module, or a package without a file of its own, is from the folder.

    Only what is there is looked at: some libraries' modules make up what they are asked for.
    """
    known = vars(module) if isinstance(module, ModuleType) else {}
    try:
        places = [known.get("__file__"), *known.get("__path__", ())]
    except KeyError:  # a part of a package without a file of its own, whose import failed
        return False
    return any(isinstance(place, str) and Path(place).is_relative_to(folder) for place in places)
