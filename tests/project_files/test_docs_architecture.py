"""docs/explanation/architecture.md lists every room, and CONTRIBUTING.md names files and functions that exist."""

from __future__ import annotations

import re

from tests.repository import ROOT

FOLDERS = ("sweep", "ensemble", "api", "db")


def test_every_room_is_in_the_map() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    listed = set(re.findall(r"^\| \d+ \| `([a-z_]+/[a-z_]+)` \|", page, re.MULTILINE))
    rooms = {f"{folder}/{init.parent.name}" for folder in FOLDERS for init in (ROOT / folder).glob("*/__init__.py")}
    assert listed == rooms


def test_floors_of_the_map_match_the_import_contract() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    listed: dict[str, set[str]] = {}
    for floor, room in re.findall(r"^\| (\d+) \| `([a-z_]+/[a-z_]+)` \|", page, re.MULTILINE):
        listed.setdefault(floor, set()).add(room)
    pyproject = (ROOT / "pyproject.toml").read_text()
    contract = pyproject[pyproject.index('id = "floors"') :]
    layers = re.findall(r'^  "(podium[^"]*)",$', contract[: contract.index("\n]\n")], re.MULTILINE)
    floors = [{name.removeprefix("podium.").replace(".", "/") for name in layer.split(" | ")} for layer in layers]
    assert [listed[floor] for floor in sorted(listed, key=int, reverse=True)] == floors


def _table_of_changes() -> str:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    return page[page.index("## To change X, open Y") : page.index("## House rules")]


def test_files_to_change_exist() -> None:
    table = _table_of_changes()
    named = re.findall(r"`((?:sweep|ensemble|api|db|tests|\.ci)/[a-z_/.-]+)`", table)
    assert len(named) > 60
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_functions_to_change_exist() -> None:
    """A file is named with functions and constants in parentheses: `path/module.py` (`function`, `CONSTANT`: why)."""
    named = re.findall(r"`((?:sweep|ensemble|api|db)/[a-z_/]+\.py)` \(([^()]*)\)", _table_of_changes())
    found = [(path, name) for path, names in named for name in re.findall(r"`(_?[A-Za-z]\w+)`", names)]
    assert len(found) > 40
    assert [each for each in found if re.search(rf"\b{each[1]}\b", (ROOT / each[0]).read_text()) is None] == []
