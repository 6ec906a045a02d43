"""Hooks that run immediately after an import."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from podium.sweep.trial_process.post_import_hooks import after_import


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    package = tmp_path / "hooked"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "inner.py").write_text("value = 1\n")
    (package / "broken.py").write_text("raise RuntimeError('as written')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "hooked"]:
        del sys.modules[name]


def test_hook_runs_once_after_the_import() -> None:
    seen: list[int] = []
    after_import({"hooked.inner": lambda module: seen.append(module.value)})
    import hooked  # type: ignore[import-not-found]

    assert seen == []
    importlib.import_module("hooked.inner")
    importlib.import_module("hooked.inner")
    assert seen == [1] and hooked.inner.value == 1


def test_hook_of_imported_module_runs_immediately() -> None:
    module = importlib.import_module("hooked.inner")
    seen: list[ModuleType] = []
    after_import({"hooked.inner": seen.append})
    assert seen == [module]


def test_import_raises_the_error_of_a_hook() -> None:
    def refuse(module: ModuleType) -> None:
        raise ValueError("not this version")

    after_import({"hooked.inner": refuse})
    with pytest.raises(ValueError, match="not this version"):
        importlib.import_module("hooked.inner")


def test_failing_import_calls_no_hook() -> None:
    after_import({"hooked.broken": lambda module: pytest.fail("called"), "hooked.nowhere": lambda module: None})
    with pytest.raises(RuntimeError, match="as written"):
        importlib.import_module("hooked.broken")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("hooked.nowhere")
