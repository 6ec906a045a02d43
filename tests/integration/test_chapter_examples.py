"""The examples of "From the book", run unchanged: each prints its figure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from tests.chapter_figures import BY_RANKS, ON_A_SERVICE
from tests.ranks import run_ranks
from tests.repository import ROOT
from tests.running_service import RunningService

EXAMPLES = ROOT / "examples" / "chapter"
TIMEOUT_S = 240.0

FAST = ("pinning_across_tasks",)


def _examples() -> Iterator[ParameterSet]:
    for name in sorted(ON_A_SERVICE):
        yield pytest.param(name, marks=() if name in FAST else pytest.mark.slow)


@pytest.mark.parametrize("name", list(_examples()))
def test_example_prints_its_figure(service: RunningService, name: str) -> None:
    environment = {**os.environ, "PODIUM_DATA_DIR": str(service.data.root)}
    command = [sys.executable, "-P", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=EXAMPLES
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(ON_A_SERVICE[name], done.stdout), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BY_RANKS))
def test_example_of_several_ranks_prints_its_figure(name: str) -> None:
    size, figure = BY_RANKS[name]
    printed = "".join(rank.output for rank in run_ranks([EXAMPLES / f"{name}.py"], size, timeout_s=TIMEOUT_S))
    assert re.fullmatch(figure, printed), printed
