"""The sweep files that the dashboard's form begins with are sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.specfile.sweep_text import read_sweep_text

EXAMPLES = sorted(Path("api/dashboard/src/new-sweep/examples").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_valid(file: Path) -> None:
    read = read_sweep_text(file.read_text())
    assert (read.problems, read.notes, read.wandb) == ((), (), False)


def test_there_are_some() -> None:
    assert len(EXAMPLES) >= 4
