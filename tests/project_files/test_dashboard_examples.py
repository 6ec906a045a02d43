"""The example sweep files of the dashboard's form are valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.specfile.sweep_text_check import read_sweep_text

EXAMPLES = sorted(Path("api/dashboard/src/new-sweep/examples").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_example_is_valid(file: Path) -> None:
    read = read_sweep_text(file.read_text())
    assert (read.problems, read.notes, read.wandb) == ((), (), False)


def test_there_are_at_least_four_examples() -> None:
    assert len(EXAMPLES) >= 4
