"""Sources name only pages of the documentation that exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository import ROOT

FOLDERS = ("api", "benchmarks", "db", "deploy", "ensemble", "examples", ".ci", "src", "sweep", "tests")
SUFFIXES = (".py", ".ts", ".tsx", ".yaml", ".toml", ".sh", ".service")
SKIPPED = {"node_modules", "static", "__pycache__"}  # packages and generated files
PAGE = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")


def _sources() -> Iterator[Path]:
    """Every source file of the repository except this one, without following links."""
    for name in FOLDERS:
        for folder, folders, files in os.walk(ROOT / name):
            folders[:] = [each for each in folders if each not in SKIPPED]
            paths = (Path(folder, file) for file in files if file.endswith(SUFFIXES))
            yield from (path for path in paths if path != Path(__file__))


def test_every_named_page_exists() -> None:
    named = [(path, page) for path in _sources() for page in PAGE.findall(path.read_text("utf-8"))]

    assert len(named) >= 10
    assert [f"{path.relative_to(ROOT)}: {page}" for path, page in named if not (ROOT / page).is_file()] == []


@pytest.mark.parametrize("text", ["see docs/search.md", '"docs/how-to/nowhere.md"', "`docs/a_b/c-d.md`."])
def test_a_page_is_found(text: str) -> None:
    assert len(PAGE.findall(text)) == 1


@pytest.mark.parametrize("text", ["site-docs/page.md", "other/docs/page.md", "docs/page.mdx", "docs/page"])
def test_other_paths_are_not_found(text: str) -> None:
    assert PAGE.findall(text) == []
