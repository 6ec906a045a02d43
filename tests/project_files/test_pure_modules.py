"""A module that states that it is pure depends only on its arguments and on the objects that it owns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pure_modules import impure_uses, pure_modules, states_pure
from tests.repository import ROOT


def test_modules_state_that_they_are_pure() -> None:
    rooms = {path.parent.relative_to(ROOT).as_posix() for path in pure_modules()}
    assert {"sweep/scheduling", "sweep/lifecycle"} <= rooms


@pytest.mark.parametrize("path", pure_modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pure_module_uses_no_clock_file_thread_or_database(path: Path) -> None:
    assert impure_uses(path.read_text()) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", ["time"]),
        ("from os import path", ["os.path"]),
        ("def late():\n    from podium.db.stores import rows", ["podium.db.stores.rows"]),
        ("from random import choice", ["random.choice"]),
        ("import random\nrandom.random()", ["random.random"]),
        ("import random\nrandom.Random()", ["random.Random"]),
        ("import random\nrandom.Random(7).choice([1])", []),
        ("open('a')", ["open"]),
        ("path.read_text()", ["path.read_text"]),
        ("datetime.datetime.now()", ["datetime.datetime.now"]),
        ("import timeit_like, osmosis\nledger.closed(path.name)", []),
    ],
)
def test_impure_use_is_found(source: str, found: list[str]) -> None:
    assert impure_uses(source) == found


@pytest.mark.parametrize(
    ("source", "pure"),
    [
        ('"""Decides. Pure; scheduler process."""', True),
        ('"""Which layers; pure, the user\'s process.\n\nMore."""', True),
        ('"""Decides.\n\nCalls pure functions."""', False),
        ('"""Purely a list."""', False),
        ("x = 1", False),
    ],
)
def test_statement_is_found_in_first_paragraph(source: str, pure: bool) -> None:
    assert states_pure(source) is pure
