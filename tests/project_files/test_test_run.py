"""`make test` and `make test-all`: what they run, the status of several parts, and Ctrl-C."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

import pytest

from tests import __main__ as whole
from tests.repository import ROOT


@pytest.fixture
def statuses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The exit statuses of pytest, one per part."""
    answers: list[int] = []

    def answer(_: Sequence[str]) -> int:
        return answers.pop(0)

    monkeypatch.setattr(whole, "pytest", answer)
    return answers


def test_all_runs_every_test_in_one_of_its_parts() -> None:
    in_parallel, alone = whole.ALL.values()
    assert "-m" not in in_parallel, "a marker deselects tests"
    assert {word.removeprefix("--ignore=") for word in in_parallel if word.startswith("--ignore=")} == set(alone)
    assert all((ROOT / path).is_file() for path in alone)


def test_slow_tests_and_those_of_a_server_are_deselected_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Sequence[str]] = []

    def record(arguments: Sequence[str]) -> int:
        calls.append(arguments)
        return 0

    monkeypatch.setattr(whole, "pytest", record)
    assert whole.main([]) == 0
    (call,) = calls
    assert call[call.index("-m") + 1] == "not slow and not postgres"


@pytest.mark.parametrize(("answers", "status"), [([0, 0], 0), ([1, 0], 1), ([0, 1], 1), ([1, 5], 1)])
def test_both_parts_run_and_must_pass(
    statuses: list[int], answers: list[int], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses[:] = answers
    assert whole.main(["--all"]) == status
    assert statuses == []
    summary = capsys.readouterr().out.splitlines()[-2:]
    assert ["FAILED" in line for line in summary] == [answer != 0 for answer in answers]


def test_no_part_runs_after_an_interruption(statuses: list[int]) -> None:
    statuses[:] = [whole.INTERRUPTED, 0]
    assert whole.main(["--all"]) == 1
    assert statuses == [0]


def test_every_test_file_that_make_names_exists() -> None:
    commands = subprocess.run(
        ["make", "--dry-run", "test-postgres", "test-extras", "kserve", "soak"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    named = set(re.findall(r"(?<![\w/])tests/[\w/]+(?:\.py)?(?=[\s:]|$)", commands))
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
