"""Measures the import time of user code and suggests `program.preload`; trial process and scheduler."""

from __future__ import annotations

import builtins
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from podium.sweep.values.code_references import RESERVED_MODULES

MAX_IMPORTS = 10  # modules that are reported
MIN_RECORDED_S = 0.02  # import time of a reported module
MIN_SUGGESTED_S = 0.3  # total import time that causes a warning
MAX_IMPORT_S = 15.0  # imports that take longer cannot be preloaded: `podium.sweep.slots.fork_server_client.PRELOAD_S`


class ImportTimes:
    """Seconds by module, of the installed modules that the user's own modules import."""

    def __init__(self, code: str | None) -> None:
        self._code = None if code is None else str(Path(code).resolve())
        self._seconds: dict[str, float] = {}
        self._outer = False  # an installed module is being imported, whose nested imports count for it
        self._thread = threading.get_ident()
        self._import = builtins.__import__
        self.total_s = 0.0

    @property
    def slowest(self) -> dict[str, float]:
        """The slowest modules, sorted by import time."""
        found = sorted(self._seconds.items(), key=lambda item: -item[1])
        return {name: round(seconds, 4) for name, seconds in found[:MAX_IMPORTS] if seconds >= MIN_RECORDED_S}

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure the imports within the block."""
        began = time.perf_counter()
        if self._code is not None:
            builtins.__import__ = self._timed
        try:
            yield
        finally:
            builtins.__import__ = self._import
            self.total_s = time.perf_counter() - began

    def _timed(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        by_user = level == 0 and not self._outer and self._is_own(globals) and threading.get_ident() == self._thread
        if not by_user or self._is_own_module(name):
            return self._import(name, globals, locals, fromlist or (), level)
        # No copy of sys.modules: touching thousands of objects would copy pages of the fork server's template.
        new = [module for item in fromlist or () if (module := f"{name}.{item}") not in sys.modules]
        began, self._outer = time.perf_counter(), True
        try:
            return self._import(name, globals, locals, fromlist or (), level)
        finally:
            self._outer = False
            self._note(name, new, time.perf_counter() - began)

    def _note(self, name: str, new: Sequence[str], seconds: float) -> None:
        if name.partition(".")[0] in RESERVED_MODULES:
            return
        submodules = [module for module in new if module in sys.modules]
        for module in submodules or [name]:
            self._seconds[module] = self._seconds.get(module, 0.0) + seconds / max(1, len(submodules))

    def _is_own(self, importing: Mapping[str, Any] | None) -> bool:
        file = None if importing is None else importing.get("__file__")
        return isinstance(file, str) and self._code is not None and file.startswith(f"{self._code}{os.sep}")

    def _is_own_module(self, name: str) -> bool:
        top = name.partition(".")[0]
        return self._code is not None and (Path(self._code, f"{top}.py").exists() or Path(self._code, top).is_dir())


def suggested_preload(imports: Mapping[str, float], preload: Sequence[str]) -> list[str]:
    """The current `program.preload` with the missing modules added."""
    return [*preload, *(name for name in imports if name not in preload)]


def warning_of(imports: Mapping[str, float], rest_s: float, preload: Sequence[str]) -> str:
    """The warning after a trial whose imports took longer than the rest of it, or ""."""
    cost_s = sum(imports.values())
    if not MIN_SUGGESTED_S <= cost_s <= MAX_IMPORT_S or cost_s <= rest_s:
        return ""
    modules = ", ".join(suggested_preload(imports, preload))
    return (
        f"imports take {cost_s:.1f} s of each trial, the rest {rest_s:.1f} s; to import once, set "
        f"program.preload: [{modules}]"
    )
