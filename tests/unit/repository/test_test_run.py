"""`make test` in two parts: every test in one of them, a failure in either is one of the whole, Ctrl-C ends it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests import __main__ as whole
from tests.repository import ROOT


@pytest.fixture
def statuses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What pytest will answer, part by part."""
    answers: list[int] = []

    def answer(_: Sequence[str]) -> int:
        return answers.pop(0)

    monkeypatch.setattr(whole, "pytest", answer)
    return answers


def test_what_the_first_part_leaves_out_is_what_the_second_runs() -> None:
    beside, alone = whole.PARTS.values()
    assert {word.removeprefix("--ignore=") for word in beside if word.startswith("--ignore=")} == set(alone)
    assert all((ROOT / path).is_file() for path in alone)


@pytest.mark.parametrize(("answers", "status"), [([0, 0], 0), ([1, 0], 1), ([0, 1], 1), ([1, 5], 1)])
def test_both_parts_run_and_both_must_pass(
    statuses: list[int], answers: list[int], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses[:] = answers
    assert whole.main() == status
    assert statuses == []
    summary = capsys.readouterr().out.splitlines()[-2:]
    assert ["FAILED" in line for line in summary] == [answer != 0 for answer in answers]


def test_nothing_more_is_run_once_it_is_interrupted(statuses: list[int]) -> None:
    statuses[:] = [whole.INTERRUPTED, 0]
    assert whole.main() == 1
    assert statuses == [0]
