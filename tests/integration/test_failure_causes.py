"""The closed list of failure causes: a real fault for each, in a real process, which leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.incremental_file_removal import finish
from podium.sweep.slots.attempt_log import TrialLog
from podium.sweep.values.attempt_assignment import Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Logged, Reported
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, key_of, run, stop_command

MB = 1 << 20
QUICK = Limits(grace_s=0.1)


def _program(name: str) -> dict[str, Any]:
    return {"function": name if ":" in name else f"faults:{name}"}


def _ended(slot: SlotDriver, name: str, limits: Limits = QUICK, **changes: Any) -> tuple[Ended, AttemptDirectory]:
    assignment = slot.assignment(_program(name), limits=limits, **changes)
    return slot.end(run(assignment)), AttemptDirectory(Path(assignment.directory))


def _nothing_left(slot: SlotDriver, directory: AttemptDirectory) -> None:
    slot.wait_for_spare()  # which has the name of its fork server at first
    assert slot.attempt_processes() == []
    for folder in (directory.work, directory.temporary):
        slot.wait(_gone(folder))  # the last of many files are removed a moment later
    assert not list(directory.root.glob(".*"))


@pytest.mark.parametrize(
    ("fault", "limits", "cause", "message"),
    [
        # Failures that the trial reports.
        ("train:fails", QUICK, Cause.USER_ERROR, "ValueError: as planned"),
        ("raises_ten_megabytes", QUICK, Cause.USER_ERROR, r"ValueError: \ud800"),
        ("raises_what_cannot_be_shown", QUICK, Cause.USER_ERROR, "Unshowable: <exception str() failed>"),
        ("train:reports_text", QUICK, Cause.BAD_REPORT, "report(value='high'): not a number"),
        ("train:reports_a_wrong_step", QUICK, Cause.BAD_REPORT, "step must be an integer of at least 0"),
        ("reports_a_step_without_bounds", QUICK, Cause.BAD_REPORT, "step must be an integer of at least 0"),
        ("train:returns_nothing", QUICK, Cause.BAD_REPORT, "the function returned nothing"),
        ("train:talks_nonsense", QUICK, Cause.BAD_REPORT, "invalid message"),
        ("talks_out_of_bounds", QUICK, Cause.BAD_REPORT, "invalid message: invalid value"),
        (
            "logs_too_much_at_once",
            QUICK,
            Cause.BAD_REPORT,
            "one call of report, log or set_user_attr may send at most 1,048,576 bytes",
        ),
        ("sends_a_line_without_end", QUICK, Cause.BAD_REPORT, "a message of more than 1,048,576 bytes"),
        ("train:reports_nan", QUICK, Cause.NON_FINITE, "report(value=nan): not finite"),
        ("fills_the_device", QUICK, Cause.DEVICE_MEMORY, "CUDA out of memory"),
        ("train:no_memory", QUICK, Cause.HOST_MEMORY, "MemoryError"),
        ("finds_the_disk_full", QUICK, Cause.DISK_FULL, "OSError: [Errno 28] No space left on device"),
        # Failures by exit.
        ("train:leaves", QUICK, Cause.EXITED, "exited with status 0 before its function returned"),
        ("train:leaves_politely", QUICK, Cause.EXITED, "exited with status 3"),
        ("train:segfaults", QUICK, Cause.SIGNAL, "terminated by SIGSEGV"),
        ("kills_itself_hard", QUICK, Cause.SIGNAL, "terminated by SIGKILL"),
        # Failures that the slot detects.
        ("train:never_ends", Limits(trial_s=0.4, grace_s=0.1), Cause.TIMEOUT, "exceeded limits.trial_s"),
        ("loops_in_c", Limits(trial_s=0.4, grace_s=0.1), Cause.TIMEOUT, "exceeded limits.trial_s"),
        ("ignores_all_with_daemons", Limits(trial_s=0.6, grace_s=0.1), Cause.TIMEOUT, "exceeded limits.trial_s"),
        ("train:sleeps", Limits(silence_s=0.4, grace_s=0.1), Cause.STALLED, "reported nothing for limits.silence_s"),
        ("endless:objective", Limits(start_s=0.4, grace_s=0.1), Cause.START_TIMEOUT, "within limits.start_s"),
        ("fills_memory", Limits(memory_mb=400), Cause.HOST_MEMORY, "limits.memory_mb allows 400"),
        ("fills_memory_under_a_strange_name", Limits(memory_mb=400), Cause.HOST_MEMORY, "limits.memory_mb allows 400"),
        ("fills_memory_in_children", Limits(memory_mb=400), Cause.HOST_MEMORY, "limits.memory_mb allows 400"),
        ("fills_its_folder", Limits(work_dir_mb=20), Cause.DISK_QUOTA, "limits.work_dir_mb (20)"),
        ("fills_its_folder_with_empty_files", Limits(work_dir_mb=8), Cause.DISK_QUOTA, "limits.work_dir_mb (8)"),
        ("fills_the_temporary_folder", Limits(work_dir_mb=20), Cause.DISK_QUOTA, "limits.work_dir_mb (20)"),
        ("finds_the_disk_full_after_filling_it", Limits(work_dir_mb=2), Cause.DISK_QUOTA, "use 3 MB"),
    ],
)
def test_fault_has_its_cause_and_leaves_no_processes_or_files(
    slot: SlotDriver, fault: str, limits: Limits, cause: Cause, message: str
) -> None:
    ended, directory = _ended(slot, fault, limits)
    assert (ended.state, ended.cause, ended.value) == (TrialState.FAILED, cause, None), ended
    assert message in ended.message
    assert len(ended.message) <= 20_000 and "\0" not in ended.message + ended.traceback + ended.log_tail
    _nothing_left(slot, directory)


def test_end_is_reported_before_files_are_removed(slot: SlotDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def held(removal: Iterator[None]) -> None:
        go.wait()
        finish(removal)

    monkeypatch.setattr("podium.sweep.slots.slot.finish", held)
    ended, directory = _ended(slot, "leaves_a_thousand_files")
    assert ended.state is TrialState.FINISHED
    assert directory.work.exists()
    assert slot.result("good").state is TrialState.FINISHED
    go.set()
    _nothing_left(slot, directory)


def test_stopped_attempt_is_cancelled_when_it_ignores_signals(slot: SlotDriver) -> None:
    assignment = slot.begin(_program("ignores_all_with_daemons"), limits=QUICK)
    ended = slot.end(stop_command(key_of(assignment)))
    assert (ended.state, ended.cause) == (TrialState.CANCELLED, Cause.CANCELLED)
    _nothing_left(slot, AttemptDirectory(Path(assignment.directory)))


@pytest.mark.parametrize(
    "program", ["makes_folders_in_folders", "makes_folders_where_files_are_expected", "removes_its_own_folders"]
)
def test_result_counts_when_trial_damages_its_folders(slot: SlotDriver, program: str) -> None:
    ended, directory = _ended(slot, program)
    assert (ended.state, ended.value) == (TrialState.FINISHED, 1.0), ended
    _nothing_left(slot, directory)
    assert slot.result("good").state is TrialState.FINISHED
    slot.wait(_gone(directory.checkpoint))


async def _gone(path: Path) -> None:
    async with asyncio.timeout(30):
        while path.exists():
            await asyncio.sleep(0.005)


def test_checkpoints_are_kept_until_result_is_recorded(slot: SlotDriver, tmp_path: Path) -> None:
    """Otherwise, a trial whose slot dies before that would start from scratch."""
    folders = [AttemptDirectory(tmp_path / name) for name in ("1", "2", "3")]
    for folder in folders:
        folder.root.mkdir()
        folder.checkpoint.touch()
    slot.result("fails", directory=str(folders[1].root), attempt=2)
    slot.result("good", directory=str(folders[2].root), attempt=3)
    assert all(folder.checkpoint.exists() for folder in folders)
    slot.result("good")  # its first call acknowledges the received events
    for folder in folders:
        slot.wait(_gone(folder.checkpoint))


def test_unreadable_log_does_not_block_slot(slot: SlotDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(TrialLog, "tail", broken)
    ended, _ = _ended(slot, "train:fails")
    assert (ended.cause, ended.log_tail) == (Cause.USER_ERROR, "")


def test_death_of_fork_server_is_infrastructure_failure(slot: SlotDriver) -> None:
    assignment = slot.begin(_program("train:sleeps"))
    slot.kill_fork_server()
    assert slot.end().cause is Cause.INFRASTRUCTURE
    assert not AttemptDirectory(Path(assignment.directory)).work.exists()


def test_out_of_memory_kill_is_distinguished_from_other_kills(
    slot: SlotDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's counter is replaced by a file; the code that reads it is the same."""
    counter = tmp_path / "memory.events"
    counter.write_text("low 0\noom 3\noom_kill 2\n")
    monkeypatch.setattr(slot.slot, "oom_counter", counter)
    slot.begin(_program("train:sleeps"))
    counter.write_text("low 0\noom 4\noom_kill 3\n")
    (process,) = slot.attempt_processes()
    os.kill(process, 9)
    assert slot.end().cause is Cause.HOST_MEMORY
    assert _ended(slot, "kills_itself_hard")[0].cause is Cause.SIGNAL


def test_stop_is_applied_when_sent_with_start(slot: SlotDriver) -> None:
    """The stop arrives with the start, when the process does not have its own session yet."""
    for _ in range(20):
        assignment = slot.assignment(_program("train:sleeps"), limits=Limits(grace_s=60))
        ended = slot.end(run(assignment), stop_command(key_of(assignment)))
        assert ended.state is TrialState.CANCELLED and ended.exit in ("SIGTERM", "143"), ended


def test_time_limit_is_enforced_without_calls(slot: SlotDriver) -> None:
    assignment = slot.begin(_program("train:never_ends"), limits=Limits(trial_s=1.0, grace_s=0.1))

    async def until_gone() -> None:
        while slot.attempt_processes():
            await asyncio.sleep(0.01)

    slot.wait(asyncio.wait_for(until_gone(), 30))
    ended = slot.end()
    assert (ended.key, ended.cause) == (key_of(assignment), Cause.TIMEOUT)


def test_memory_shared_by_children_counts_once(slot: SlotDriver) -> None:
    ended, _ = _ended(slot, "shares_much_with_its_children", Limits(memory_mb=700))
    assert (ended.state, ended.value) == (TrialState.FINISHED, 0.0), ended


# Large output.


def test_log_size_is_bounded(slot: SlotDriver) -> None:
    before = _own_memory()
    ended, directory = _ended(slot, "floods_the_log", Limits(log_mb=2))
    assert (ended.state, ended.value, ended.log_tail) == (TrialState.FINISHED, 0.75, "")
    assert _own_memory() - before < 20 * MB
    log = directory.log.read_bytes()
    assert MB < len(log) <= 2 * MB
    assert log.startswith(b"the beginning") and log.endswith(b"the end")
    line = b" bytes omitted ]\n"
    assert log.count(line) == 1
    end = log.index(line)
    left_out = int(log[:end].rsplit(b"[ ", 1)[1])
    line_bytes = len(b"\n[ %d" % left_out + line)
    assert left_out + len(log) - line_bytes == 100 * MB + len(b"the beginningthe end")
    _nothing_left(slot, directory)


def test_failure_includes_end_of_log(slot: SlotDriver) -> None:
    assert "Segmentation fault" in _ended(slot, "train:segfaults")[0].log_tail
    tail = _ended(slot, "raises_ten_megabytes")[0].log_tail
    assert len(tail) <= 4096


@pytest.mark.slow
def test_million_points_are_thinned(slot: SlotDriver) -> None:
    assignment = slot.assignment(_program("floods_the_metrics"), prunable=False)
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    ended = events[-1]
    assert isinstance(ended, Ended) and (ended.state, ended.value) == (TrialState.FINISHED, 0.5)
    for kind in (Reported, Logged):
        steps = [event.step for event in events if isinstance(event, kind)]
        assert steps[:1000] == list(range(1000)) and steps[-1] == 999_999
        assert steps == sorted(set(steps)) and len(steps) < 6500


def test_last_point_is_kept_when_trial_is_stopped(slot: SlotDriver) -> None:
    assignment = slot.assignment(_program("reports_5004_points_and_waits"))
    events = slot.until(lambda event: isinstance(event, Logged), run(assignment))
    events += slot.until(lambda event: isinstance(event, Ended), stop_command(key_of(assignment)))
    assert isinstance(events[-1], Ended) and (events[-1].state, events[-1].exit) == (TrialState.CANCELLED, "143")
    assert [event.step for event in events if isinstance(event, Reported)][-1] == 5003


def test_unfetched_events_are_held_back_in_trial_process(slot: SlotDriver) -> None:
    limits = Limits(silence_s=0.5, grace_s=0.1)  # not the silence of the trial
    assignment = slot.begin(_program("reports_far_more_than_anyone_fetches"), limits=limits)
    slot.wait(asyncio.sleep(1.5))
    assert 10_000 <= len(slot.open().events) < 12_000
    calls = [slot.exchange()]
    while not isinstance(calls[-1][-1], Ended):
        calls.append(slot.exchange())
    assert max(len(call) for call in calls) <= 2000
    ended = calls[-1][-1]
    assert isinstance(ended, Ended) and (ended.key, ended.state) == (key_of(assignment), TrialState.FINISHED), ended


def test_unfetched_wide_points_are_bounded_by_size(slot: SlotDriver) -> None:
    assignment = slot.begin(_program("logs_wide_points"))
    slot.wait(asyncio.sleep(1.5))
    assert slot.slot.events.size_bytes < 10 * MB
    calls = [slot.exchange()]
    while not isinstance(calls[-1][-1], Ended):
        calls.append(slot.exchange())
    steps = [event.step for call in calls for event in call if isinstance(event, Logged)]
    assert steps == list(range(steps[0], 200)) and len(steps) > 50
    assert max(sum(isinstance(event, Logged) for event in call) for call in calls) < 12
    assert calls[-1][-1].key == key_of(assignment)
    slot.result("good")  # its first call acknowledges the last of them
    assert slot.slot.events.size_bytes < 10_000


def _own_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
