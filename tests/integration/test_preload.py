"""Preloaded packages: imported before the fork, separate for each sweep, and reported if they fail."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from podium.sweep.slots import fork_server_pool
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Started
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, key_of, run, stop_command


def _program(*names: str, function: str = "imported") -> dict[str, Any]:
    return {"function": f"train:{function}", "preload": list(names)}


def _lives(slot: SlotDriver) -> int:
    return len(slot.fork_servers())


def test_package_is_preloaded_only_for_its_sweep(slot: SlotDriver) -> None:
    has = [slot.result(_program(*names)).value for names in (["optuna"], [], ["optuna"])]
    assert has == [1.0, 0.0, 1.0]
    assert _lives(slot) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_package", "program.preload: no_such_package is not installed here"),
        ("is_broken", "program.preload: is_broken cannot be imported: OSError: as planned"),
        ("starts_a_thread", "program.preload: starts_a_thread starts 1 threads when it is imported"),
        ("crashes", "program.preload: the process exited while it imported crashes"),
    ],
)
def test_failed_preload_is_user_error_and_slot_stays_usable(slot: SlotDriver, name: str, message: str) -> None:
    ended = slot.result(_program(name))
    assert (ended.state, ended.cause) == (TrialState.FAILED, Cause.USER_ERROR)
    assert message in ended.message
    assert slot.result("good").state is TrialState.FINISHED


def test_slow_import_is_aborted(slot: SlotDriver) -> None:
    with slot.with_options(preload_s=0.5):
        ended = slot.result(_program("takes_long"))
        again = slot.result(_program("takes_long"))  # immediately, while the previous one is dying
    assert (ended.state, ended.cause) == (TrialState.FAILED, Cause.USER_ERROR)
    assert "importing takes_long took longer than 0.5 s" in ended.message
    assert (again.cause, again.message) == (Cause.USER_ERROR, ended.message)


def test_template_that_cannot_start_fails_only_its_attempt(slot: SlotDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cannot(*_: Any) -> None:
        raise RuntimeError("as planned")

    slot.result("good")
    with monkeypatch.context() as patch:
        patch.setattr(slot.slot.fork_servers, "select", cannot)
        ended = slot.result("good")
    assert (ended.state, ended.cause) == (TrialState.FAILED, Cause.INFRASTRUCTURE)
    assert ended.message == "RuntimeError: as planned"
    assert slot.result("good").state is TrialState.FINISHED


def test_number_of_fork_servers_is_limited_without_affecting_running_attempts(slot: SlotDriver) -> None:
    for name in ("wave", "colorsys", "cmd"):
        slot.result(_program(name))
    running: Assignment = slot.begin(_program("cmd", function="sleeps"))
    assert _lives(slot) <= 1 + fork_server_pool.MAX_PRELOADED
    ended = slot.end(stop_command(key_of(running)))
    assert ended.state is TrialState.CANCELLED


def test_killed_fork_server_is_restarted(slot: SlotDriver) -> None:
    slot.result(_program("optuna"))
    slot.kill_fork_server()
    while slot.fork_servers():
        slot.wait(asyncio.sleep(0.01))  # the template reaps it
    assert slot.end(run(slot.assignment(_program("optuna")))).value == 1.0
    assert slot.result("good").state is TrialState.FINISHED


def test_import_time_of_user_code_is_measured_unless_preloaded(slot: SlotDriver) -> None:
    def started(*names: str) -> Started:
        program = {"function": "slow_to_import:objective", "preload": list(names)}
        return next(event for event in slot.events(program) if isinstance(event, Started))

    imports = started().imports
    assert list(imports) == ["sleepy.part"] and 0.5 <= imports["sleepy.part"] <= started().import_s
    assert started("sleepy.part").imports == {}
