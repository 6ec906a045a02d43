"""Warnings of sweeps: set, withdrawn, rebuilt after a restart, and shown by REST and the command line."""

from __future__ import annotations

from typing import Any

import pytest

from podium.api.cli.terminal import sweep_progress, terminal_output
from podium.db.stores import event_outbox
from podium.sweep.lifecycle.database_changes import SweepWarned
from podium.sweep.values.running_sweep_warnings import MIN_TRIALS, SAME_VALUE, ResultCheck, WarningCode
from tests.rig import Rig
from tests.service_rig import AT, ServiceRig

CODE = WarningCode.IDENTICAL_RESULTS


@pytest.fixture
def rig() -> Rig:
    return Rig()


def finish(rig: Rig, *values: float) -> None:
    for value in values:
        rig.pool.finish("cpu-0", value)
        rig.settle()


def test_identical_results_of_different_parameters_give_warning(rig: Rig) -> None:
    rig.submit(run_cap=20)
    finish(rig, *[0.5] * (MIN_TRIALS - 1))
    assert rig.sweep().warnings == {}
    finish(rig, 0.5)
    assert rig.sweep().warnings == {CODE: SAME_VALUE}


def test_different_value_withdraws_warning_permanently(rig: Rig) -> None:
    rig.submit(run_cap=20)
    finish(rig, *[0.5] * 6, 0.6)
    assert rig.sweep().warnings == {}
    finish(rig, *[0.5] * 6)
    assert rig.sweep().warnings == {}


@pytest.mark.parametrize("restarted_after", [3, 5, 6])
def test_check_continues_after_restart(rig: Rig, restarted_after: int) -> None:
    rig.submit(run_cap=20)
    finish(rig, *[0.5] * restarted_after)
    rig.restart()
    finish(rig, *[0.5] * (6 - restarted_after))
    assert rig.sweep().warnings == {CODE: SAME_VALUE}
    rig.restart()
    finish(rig, 0.7)
    assert rig.sweep().warnings == {}


def test_identical_parameters_with_identical_results_give_no_warning(rig: Rig) -> None:
    rig.submit(run_cap=20, parameters={"x": {"value": 0.5}})
    finish(rig, *[0.5] * 8)
    assert rig.sweep().warnings == {}


def test_pruned_and_failed_trials_are_ignored(rig: Rig) -> None:
    rig.submit(run_cap=20)
    finish(rig, *[0.5] * 4)
    rig.pool.fail("cpu-0")
    rig.settle()
    assert rig.sweep().warnings == {}


def test_unreported_metric_of_stop_gives_warning_until_reported(rig: Rig) -> None:
    rig.submit(run_cap=20, stop={"acuracy": 0.9, "step": 100})
    finish(rig, 0.5)
    (message,) = rig.sweep().warnings.values()
    assert message.startswith("stop: no trial has reported 'acuracy'; use step,")
    rig.pool.log("cpu-0", 0, {"acuracy": 0.1})
    finish(rig, 0.6)
    assert rig.sweep().warnings == {}


def test_several_objectives_are_compared_together() -> None:
    same, other = ResultCheck(), ResultCheck()
    for number in range(MIN_TRIALS):
        same.record({"x": number}, (0.5, 2.0))
        other.record({"x": number}, (0.5, float(number)))
    assert (same.warning, other.warning) == (SAME_VALUE, "")


def _warned(service: ServiceRig, message: str = SAME_VALUE) -> int:
    sweep_id = service.sweep()
    service.commit(SweepWarned(sweep_id, CODE, message, AT))
    return sweep_id


def test_rest_and_events_contain_warnings(service: ServiceRig) -> None:
    sweep_id = _warned(service)
    client = service.client()
    expected = [{"code": "identical_results", "message": SAME_VALUE, "at": "2023-11-14T22:13:20Z"}]
    assert client.get(f"/api/v1/sweeps/{sweep_id}").json()["warnings"] == expected
    assert client.get("/api/v1/sweeps").json()["items"][0]["warnings"] == expected
    with service.database.read() as connection:
        last = event_outbox.after(connection, 0)[-1]
    assert (last["kind"], last["sweep_id"]) == ("sweep.warning", sweep_id)
    assert last["payload"] == {"code": "identical_results", "message": SAME_VALUE}


def test_command_line_prints_warning_once(service: ServiceRig) -> None:
    sweep: Any = {"id": 1, "warnings": [{"code": CODE, "message": SAME_VALUE}]}
    printed: set[tuple[int, str]] = set()
    with terminal_output.console.capture() as captured:
        for _ in range(2):
            sweep_progress.print_warnings(sweep, "sweep 1: ", printed)
    assert captured.get() == f"sweep 1: warning: {SAME_VALUE}\n"
