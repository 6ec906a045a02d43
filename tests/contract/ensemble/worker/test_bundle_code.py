"""Code of users in one process: imported only from its own folder, and unloaded before the next bundle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from podium.ensemble.worker.bundle_code import importable, load_function
from podium.sweep.values.errors import EnsembleError


@pytest.fixture
def code(tmp_path: Path) -> Iterator[Path]:
    """An empty folder; modules that a test imports from it are unloaded."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def bundle(folder: Path, **files: str) -> Path:
    """Write modules by their dotted names, with two underscores for a dot."""
    for name, text in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def called(folder: Path, reference: str) -> Any:
    with importable(folder, alone=False):
        return cast(Any, load_function(folder, reference))({})


def test_namespace_package_imports_its_siblings(code: Path) -> None:
    folder = bundle(code / "a", pkg__deep__train="from .. import sizes\ndef build(params): return sizes.WIDTH",
                    pkg__sizes="WIDTH = 3")  # fmt: skip
    before = set(sys.modules)
    assert called(folder, "pkg.deep.train:build") == 3
    assert set(sys.modules) == before


def test_module_may_have_the_name_of_an_unused_module(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "db", raising=False)
    folder = bundle(code / "a", db="def build(params): return 'mine'")
    assert called(folder, "db:build") == "mine"


def test_same_name_in_two_folders_is_two_modules(code: Path) -> None:
    for name in ("a", "b", "a"):
        folder = bundle(code / name, nets_of_test=f"def build(params): return {name!r}")
        assert called(folder, "nets_of_test:build") == name


def test_code_alone_in_its_process_may_import_later(code: Path) -> None:
    folder = bundle(code / "a", nets_of_test="def build(params):\n    import later_of_test\n    return later_of_test.X",
                    later_of_test="X = 5")  # fmt: skip
    with importable(folder, alone=True):
        found = cast(Any, load_function(folder, "nets_of_test:build"))
    assert found({}) == 5


WRONG = {
    "an import that raises": ("raise ValueError('no data here')", "cannot import .*: ValueError: no data here"),
    "a script": ("import sys; sys.exit(2)", "cannot import .*: SystemExit: 2"),
    "no such function": ("x = 1", "has no function 'build'"),
    "no function": ("build = 1", "has no function 'build'"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_import_error_names_the_code(code: Path, text: str, words: str) -> None:
    with pytest.raises(EnsembleError, match=words):
        called(bundle(code / "a", wrong_of_test=text), "wrong_of_test:build")


@pytest.mark.parametrize("reference", ["podium.sweep.values.errors:PodiumError", "os.path", "a:b:c", "../x:y", ""])
def test_invalid_reference_is_not_imported(code: Path, reference: str) -> None:
    with pytest.raises(EnsembleError, match="is not a function reference"):
        load_function(code, reference)


def test_shadowed_module_is_an_error(code: Path) -> None:
    with pytest.raises(EnsembleError, match=r"module json of .* is shadowed"):
        called(bundle(code / "a", json="def build(params): return 1"), "json:build")


def test_partially_imported_package_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PartialPath:
        def __iter__(self) -> Iterator[str]:
            raise KeyError("its parent")

    partial = ModuleType("partial")
    vars(partial)["__path__"] = PartialPath()
    monkeypatch.setitem(sys.modules, "partial", partial)
    with importable(tmp_path, alone=False):
        pass
    assert sys.modules["partial"] is partial
