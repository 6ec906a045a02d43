"""The progress display of sweeps: it fits a terminal of 80 columns and shows the remaining time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from podium.api.cli.terminal import sweep_progress, terminal_output


class TwoDevices:
    """A client of a service with one trial on one of two devices."""

    def devices(self) -> list[dict[str, Any]]:
        return [
            {"id": "cpu-0", "state": "busy", "trial_id": 5, "reason": ""},
            {"id": "cpu-1", "state": "ready", "trial_id": None, "reason": "nothing waits"},
        ]

    def trial(self, trial_id: int) -> dict[str, Any]:
        return {"id": trial_id, "number": 4, "params": {"lr": 0.012345, "optimizer": "adam"}}


def _sweep(sweep_id: int = 1, **changes: Any) -> Any:
    started = datetime.now(UTC) - timedelta(seconds=60)
    return {
        "id": sweep_id, "name": "digits", "state": "running", "reason": "", "wait_reason": None, "wait_message": "",
        "value_rule": "max", "run_cap": 12, "budget": None,
        "counts": {"finished": 3, "pruned": 1, "running": 1}, "started_at": started.isoformat(),
        "best": {"number": 2, "value": 0.91234, "values": None}, "warnings": [],
        "spec": {"metric": {"name": "acc", "goal": "maximize"}},
        **changes,
    }  # fmt: skip


def _shown(*sweeps: Any, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    client: Any = TwoDevices()
    with console.capture() as captured:
        console.print(sweep_progress.display(client, list(sweeps)))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_single_sweep_shows_progress_best_trial_and_devices() -> None:
    shown = _shown(_sweep())
    assert "4/12 trials in 1:00, about 2:00 left" in shown[0]
    assert shown[1] == "3 finished, 1 pruned, 1 running; best acc 0.9123 (trial 2)"
    assert any("trial 4: lr=0.01235, optimizer=adam" in line for line in shown)
    assert any(line.endswith("nothing waits") for line in shown)


def test_several_sweeps_are_prefixed_with_their_ids() -> None:
    shown = _shown(
        _sweep(1), _sweep(22, counts={}, best=None, started_at=None, state="queued", reason="no free device")
    )
    assert shown[0].startswith("1 digits") and shown[1].startswith("22 digits")
    assert shown[3] == "22: no free device; best acc –"


@pytest.mark.parametrize("width", [80, 120])
def test_display_fits_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in _shown(_sweep(1), _sweep(2), width=width))
    assert len(_shown(_sweep(), width=width)) <= 6


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0:00"), (59.6, "1:00"), (3599, "59:59"), (7260, "2:01:00")])
def test_durations_are_shown_as_clock_times(seconds: float, words: str) -> None:
    assert sweep_progress.clock_time(seconds) == words


class OneFailed:
    """A client of a service with a trial that failed."""

    def trials(self, sweep_id: int, state: str) -> Iterator[dict[str, Any]]:
        assert state == "failed"
        yield {"id": 12, "number": 3, "cause": "user_error"}

    def trial(self, trial_id: int) -> dict[str, Any]:
        return {"attempts": [{"message": None}, {"message": "ValueError: no\x1b[31m"}]}


def test_first_failure_is_printed_once() -> None:
    client: Any = OneFailed()
    said: set[int] = set()
    with terminal_output.console.capture() as captured:
        sweep_progress.print_first_failure(client, _sweep(), said)
        for failures in (1, 2):
            sweep_progress.print_first_failure(client, _sweep(counts={"failed": failures}), said)
    assert captured.get() == "trial 3 (id 12) failed: ValueError: no\\x1b[31m; podium trial logs 12\n"
