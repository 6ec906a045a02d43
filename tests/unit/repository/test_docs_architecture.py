"""docs/explanation/architecture.md lists every room, and CONTRIBUTING.md names files that exist."""

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


def test_files_to_change_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = page[page.index("## To change X, open Y") : page.index("## House rules")]
    named = re.findall(r"`((?:sweep|ensemble|api|db|tests|\.ci)/[a-z_/.-]+)`", table)
    assert len(named) > 60
    assert [path for path in named if not (ROOT / path).exists()] == []
