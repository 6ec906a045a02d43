"""Calls a function immediately after a module is imported; trial process."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

Hook = Callable[[ModuleType], None]


def after_import(hooks: Mapping[str, Hook]) -> None:
    """Call each hook with the module of its name: now if it is already imported, else right after its import.

    The import raises what the hook raises.
    """
    later = {name: hook for name, hook in hooks.items() if name not in sys.modules}
    if later:
        sys.meta_path.insert(0, _Finder(later))
    for name, hook in hooks.items():
        if name not in later:
            hook(sys.modules[name])


class _Finder(importlib.abc.MetaPathFinder):
    """Adds the hook to the spec that the default finder returns."""

    def __init__(self, hooks: dict[str, Hook]) -> None:
        self._hooks = hooks

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._hooks:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            hook, run = self._hooks[fullname], spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                hook(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
