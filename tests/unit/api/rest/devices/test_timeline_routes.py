"""The timeline: the trials of each device and a reason for every gap, after restarts and with many short trials."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from podium.api.rest.devices.idle_gap_reasons import (
    Gap,
    GapReason,
    drop_short,
    find_gaps,
    reason_of,
    with_missed_heartbeat,
)
from podium.api.rest.devices.short_interval_merging import Interval, merge_short
from podium.db.queries import scheduler_recovery
from podium.db.queries.device_busy_intervals import BusyRow, TimelineInterval
from podium.db.stores import device_history, devices
from podium.db.stores.device_history import DeviceStateRow
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    Change,
    DeviceChanged,
    TrialPlanned,
)
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.device_state import DeviceState, RecordedState
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState
from tests.fakes import FakeClock
from tests.service_rig import ServiceRig, assert_problem, nonce

NOW = time.time()
T = float(round(NOW - 3000.0))  # within the hour shown by default


@pytest.fixture(autouse=True)
def _fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is `NOW` for the route: these tests may run long after they were collected."""
    monkeypatch.setattr("podium.api.rest.devices.timeline_routes.time", SimpleNamespace(time=lambda: NOW))


@pytest.fixture
def client(service: ServiceRig) -> TestClient:
    return service.client()


def device_state(state: str, reason: str, at: float, device_id: str = "cpu-0") -> DeviceChanged:
    return DeviceChanged(device_id, "cpu", 0, "node", "", None, 99, DeviceState(state), reason, at)


def device(service: ServiceRig, state: str, reason: str, at: float, device_id: str = "cpu-0") -> None:
    service.commit(device_state(state, reason, at, device_id))


def trial(service: ServiceRig, sweep_id: int, start: float, end: float | None, **options: Any) -> int:
    """A trial with one attempt from `start` to `end`; `planned` when the search chose it."""
    with service.database.read() as connection:
        trial_id = scheduler_recovery.last_id(connection) + 1
    service.commit(*trial_changes(trial_id, sweep_id, start, end, **options))
    return trial_id


def trial_changes(trial_id: int, sweep_id: int, start: float, end: float | None, **options: Any) -> Iterator[Change]:
    key = AttemptKey(trial_id, 1)
    yield TrialPlanned(trial_id, sweep_id, trial_id, {}, "random", {}, options.get("planned", start - 100))
    yield AttemptPlaced(key, sweep_id, trial_id, options.get("device", "cpu-0"), "node", start, nonce(trial_id, 1))
    if end is not None:
        state = options.get("state", TrialState.FINISHED)
        cause = Cause.USER_ERROR if state is TrialState.FAILED else None
        event = Ended(key, state, start, end, value=0.5, cause=cause)
        yield AttemptEnded(event, sweep_id, trial_id, state, options.get("device_s", end - start))


def read(client: TestClient, **params: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/timeline", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def gaps_of(view: dict[str, Any]) -> list[tuple[float, float, str, str]]:
    """The gaps of the first device, with times relative to T."""
    found = view["devices"][0]
    reasons = [(found["reasons"][place]["why"], found["reasons"][place]["reason"]) for place in found["gaps"]["reason"]]
    spans = zip(found["gaps"]["start_s"], found["gaps"]["end_s"], reasons, strict=True)
    return [(round(start - T, 1), round(end - T, 1), *reason) for start, end, reason in spans]


def test_trials_and_gaps_are_shown(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep(name="first")
    device(service, "ready", "", T)
    first = trial(service, sweep_id, T, T + 100)
    device(service, "ready", "sweep 1 runs 1 at a time at most", T + 102)
    device(service, "ready", "", T + 200)
    second = trial(service, sweep_id, T + 200, T + 300, state=TrialState.FAILED)
    running = trial(service, sweep_id, T + 330, None, planned=T + 329)
    view = read(client, to=T + 400)
    (found,) = view["devices"]
    bars = found["bars"]
    assert bars["trial_id"] == [first, second, running]
    assert bars["state"] == ["finished", "failed", "running"]
    assert bars["end_s"][2] is None
    assert gaps_of(read(client, **{"from": T, "to": T + 400})) == [
        (100, 200, "idle", "sweep 1 runs 1 at a time at most"),
        (300, 329, "choosing", "sweep 1 is choosing its next trial"),
        (329, 330, "between", ""),
    ]
    assert (found["attempts"], found["failed"], found["busy_s"], found["idle_s"]) == (3, 1, 270, 130)
    assert found["busy_share"] == view["busy_share"] == 0.675
    assert view["sweeps"] == {"1": "first"}
    assert [reason["total_s"] for reason in found["reasons"]] == [100, 29, 1]


def test_device_is_absent_before_its_first_state(service: ServiceRig, client: TestClient) -> None:
    device(service, "ready", "no sweep is running", T)
    (found,) = read(client)["devices"]
    assert found["gaps"]["start_s"] == [round(T, 3)]
    assert found["idle_s"] == pytest.approx(3000, abs=60)
    assert [reason["reason"] for reason in found["reasons"]] == ["no sweep is running"]


def test_closed_time_is_not_busy_and_not_idle(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    device(service, "ready", "", T)
    trial(service, sweep_id, T, T + 10)
    device(service, "dedicated", "dedicated to member 0 of ensemble e", T + 10)
    device(service, "drained", "the fan is loud", T + 20)
    device(service, "lost", "its slot is gone", T + 30)
    device(service, "ready", "", T + 40)
    trial(service, sweep_id, T + 40, T + 50)
    view = read(client, **{"from": T, "to": T + 50})
    assert gaps_of(view) == [
        (10, 20, "dedicated", "dedicated to member 0 of ensemble e"),
        (20, 30, "drained", "the fan is loud"),
        (30, 40, "lost", "its slot is gone"),
    ]
    (found,) = view["devices"]
    assert (found["busy_s"], found["idle_s"], found["closed_s"], found["busy_share"]) == (20, 0, 30, 1)


def test_many_short_trials_are_merged_and_counted(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    device(service, "ready", "", T)
    starts = [T + 0.25 * number for number in range(300)]
    changes = (trial_changes(number, sweep_id, start, start + 0.125) for number, start in enumerate(starts, 1))
    service.commit(*itertools.chain.from_iterable(changes))
    (found,) = read(client, **{"from": T, "to": T + 3000})["devices"]
    assert (found["attempts"], sum(found["bars"]["attempts"])) == (300, 300)
    assert len(found["bars"]["start_s"]) == 15, "one per bucket of 5 s"
    assert found["busy_s"] == 37.5
    short = next(reason for reason in found["reasons"] if reason["why"] == "between")
    assert short["total_s"] == pytest.approx(300 * 0.125, abs=0.2)
    assert found["bars"]["number"][0] == 1
    assert found["bars"]["last_number"][-1] == 300


def test_sweep_has_its_own_interval_and_share(service: ServiceRig, client: TestClient) -> None:
    one, other = service.sweep(), service.sweep()
    device(service, "ready", "", T - 50)
    trial(service, one, T - 50, T)
    trial(service, one, T, T + 30)
    trial(service, other, T + 30, T + 90)
    service.end_sweep(other)
    view = read(client, sweep=one, to=T + 100)
    assert view["sweep_id"] == one
    (found,) = read(client, **{"sweep": other, "from": T, "to": T + 90})["devices"]
    assert (found["busy_s"], found["sweep_busy_s"]) == (90, 60)


def test_attempt_that_overlaps_the_interval_is_counted_in_part(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    device(service, "ready", "", T)
    trial(service, sweep_id, T, T + 100)
    (found,) = read(client, **{"from": T + 60, "to": T + 80})["devices"]
    assert (found["busy_s"], found["reasons"], found["bars"]["start_s"]) == (20, [], [round(T, 3)])


def test_attempt_that_sends_its_files_has_left_the_device(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    device(service, "ready", "", T)
    trial_id = trial(service, sweep_id, T, None)
    service.commit(AttemptReleased(AttemptKey(trial_id, 1), sweep_id, trial_id, 30.0, T + 30))
    trial(service, sweep_id, T + 40, None)
    (found,) = read(client, **{"from": T, "to": T + 100})["devices"]
    assert found["busy_s"] == 90 and found["bars"]["end_s"] == [T + 30, None]
    (seen,) = client.get("/api/v1/devices").json()
    assert seen["running"]["trial_id"] == trial_id + 1


def test_attempt_that_died_with_the_service_ends_at_its_last_heartbeat(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    device(service, "ready", "", T)
    trial(service, sweep_id, T, T + 500, state=TrialState.CANCELLED, device_s=20.0)
    (found,) = read(client, **{"from": T, "to": T + 500})["devices"]
    assert found["busy_s"] == 20


@pytest.mark.parametrize(
    ("since", "until"),
    [(T, T), (T + 1, T), (-5, 10), (NOW + 1000, NOW + 2000), ("0001-01-01T00:00:00", T), (T, "0001-01-01T00:00:00")],
    ids=["empty", "backwards", "before 1970", "in the future", "since year 1", "until year 1"],
)
def test_invalid_interval_is_refused(client: TestClient, since: float | str, until: float | str) -> None:
    assert_problem(client.get("/api/v1/timeline", params={"from": since, "to": until}), 400, "`from` must be before")


def test_times_may_be_in_iso_format(service: ServiceRig, client: TestClient) -> None:
    view = read(client, **{"from": "2026-01-01T00:00:00", "to": "2026-01-01T02:00:00+01:00"})
    assert view["to_s"] - view["from_s"] == 3600


def test_unknown_sweep_is_404(client: TestClient) -> None:
    assert_problem(client.get("/api/v1/timeline?sweep=9"), 404, "sweep")


# Restarts.


def states(service: ServiceRig, device_id: str = "cpu-0") -> list[str]:
    with service.database.read() as connection:
        return [state for _, state, _ in device_history.between(connection, device_id, 0.0, time.time() + 10)]


def test_killed_scheduler_is_recorded_by_the_next_one(service: ServiceRig, client: TestClient) -> None:
    device(service, "ready", "no sweep is running", T)
    with service.database.write() as connection:
        device_history.record_heartbeat(connection, T + 60)
    DatabaseRecorder(service.database)
    assert states(service) == ["ready", "down", "starting"]
    found = gaps_of(read(client, **{"from": T}))
    assert found[0] == (0, 60, "idle", "no sweep is running")
    assert (found[1][0], found[1][2]) == (60, "down")


def test_stopped_scheduler_records_its_stop(service: ServiceRig) -> None:
    device(service, "ready", "", T)
    recorder = DatabaseRecorder(service.database)
    recorder.stop()
    again = DatabaseRecorder(service.database)
    again.forget_devices([])
    assert states(service) == ["ready", "down", "starting", "down", "starting"], "it may be about to come"
    again.commit([DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 99, DeviceState.READY, "", time.time())])
    again.record_devices(["cpu-0"])
    assert states(service)[5:] == ["ready"]
    again.stop()
    third = DatabaseRecorder(service.database)
    third.forget_devices([])
    third.record_devices([])
    third.record_devices([])
    assert states(service)[6:] == ["down", "starting", "gone"]


def test_devices_are_shown_node_by_node_those_of_the_head_first(service: ServiceRig, client: TestClient) -> None:
    for device_id in ("c:cpu-0", "cpu-0", "b:cpu-0", "b:gpu-1"):
        device(service, "ready", "no sweep is running", T, device_id)
    recorder = DatabaseRecorder(service.database)
    recorder.forget_devices(["c:cpu-0", "cpu-0", "b:cpu-0"])
    found = read(client)["devices"]
    assert [each["id"] for each in found] == ["cpu-0", "b:cpu-0", "b:gpu-1", "c:cpu-0"]
    assert [each["kind"] for each in found] == ["cpu", "cpu", "gpu", "cpu"]
    assert [each["present"] for each in found] == [True, True, False, True]
    assert [each["id"] for each in client.get("/api/v1/devices").json()] == ["cpu-0", "b:cpu-0", "c:cpu-0"]


def test_removed_device_is_shown_while_the_interval_has_data_of_it(service: ServiceRig, client: TestClient) -> None:
    device(service, "ready", "no sweep is running", T)
    recorder = DatabaseRecorder(service.database)
    recorder.forget_devices([])
    recorder.record_devices([])
    assert [(found["id"], found["present"]) for found in read(client)["devices"]] == [("cpu-0", False)]
    assert read(client, **{"from": T - 900, "to": T - 800})["devices"] == []


def test_heartbeat_is_written_every_few_seconds(service: ServiceRig) -> None:
    clock = FakeClock()
    recorder = DatabaseRecorder(service.database, clock=clock)
    with service.database.read() as connection:
        before = device_history.seen_at(connection)
    clock.advance(9)
    recorder.record_heartbeat()
    with service.database.read() as connection:
        assert device_history.seen_at(connection) == before == 1000
    clock.advance(2)
    recorder.record_heartbeat()
    with service.database.read() as connection:
        assert device_history.seen_at(connection) == 1011


def test_states_of_one_transaction_are_all_in_the_history(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    changes = (device_state("ready", "first", T), device_state("ready", "", T, "cpu-1"))
    service.commit(*changes, *trial_changes(1, sweep_id, T, T + 1), device_state("ready", "second", T + 1))
    with service.database.read() as connection:
        history = device_history.between(connection, "cpu-0", 0.0, T + 10)
        current = {each.id: each.reason for each in devices.all_of(connection)}
    assert [(at, reason) for at, _, reason in history] == [(T, "first"), (T + 1, "second")]
    assert current == {"cpu-0": "second", "cpu-1": ""}


def test_history_of_a_device_is_bounded(service: ServiceRig) -> None:
    with service.database.write() as connection:
        for step in range(600):
            device_history.add(
                connection, [("cpu-0", DeviceStateRow(T + step, RecordedState.READY, str(step)))], kept=50
            )
            device_history.add(connection, [("cpu-1", DeviceStateRow(T, RecordedState.READY, ""))], kept=50)
    assert 50 <= len(states(service)) <= 50 + 2 * device_history.INSERTS_PER_DELETION


# Pure functions.


def row(start: float, end: float, planned_at: float = 0.0) -> BusyRow:
    return BusyRow(start, end, 1, end - start, 0.0, False, {"finished": 1}, 1, 1, 0, 0, planned_at)


def test_late_state_applies_from_the_start_of_the_gap() -> None:
    intervals = [Interval(0, "ready", ""), Interval(12, "ready", "sweep 1 is paused")]
    (gap,) = find_gaps([row(0, 10)], intervals, 0, 50)
    assert (gap.start, gap.end, gap.reason) == (10, 50, "sweep 1 is paused")


def test_long_gap_without_a_recorded_reason_is_unknown() -> None:
    found = find_gaps([row(0, 10), row(40, 50), row(52, 60)], [Interval(0, "ready", "")], 0, 60)
    assert [(gap.why, gap.reason) for gap in found] == [
        (GapReason.UNKNOWN, "no reason was recorded"),
        (GapReason.BETWEEN, ""),
    ]


def test_time_before_the_history_is_unknown() -> None:
    found = find_gaps([row(5, 10)], [Interval(30, "ready", "no sweep is running")], 0, 40)
    assert [(gap.start, gap.why) for gap in found] == [
        (0, GapReason.UNKNOWN),
        (10, GapReason.UNKNOWN),
        (30, GapReason.IDLE),
    ]


def test_missed_heartbeat_ends_the_last_state() -> None:
    intervals = [(0.0, "ready", "no sweep is running")]
    assert with_missed_heartbeat(intervals, 100, 120) == intervals
    assert with_missed_heartbeat(intervals, 100, 200)[-1] == (100, "down", "the scheduler's heartbeat is missing")
    stopped = [*intervals, (90.0, "down", "the service was stopped")]
    assert with_missed_heartbeat(stopped, 100, 200) == stopped


def test_short_gap_is_merged_into_its_neighbor() -> None:
    intervals = [Interval(float(at), "ready", f"reason {at % 2}") for at in range(10)] + [Interval(10, "lost", "gone")]
    shown = drop_short(find_gaps([], intervals, 0, 30), 5.0, 30)
    assert [(gap.start, gap.end, gap.why) for gap in shown] == [
        (0, 5, GapReason.IDLE),
        (5, 10, GapReason.IDLE),
        (10, 30, GapReason.LOST),
    ]
    shown = drop_short(find_gaps([], [Interval(0, "lost", "gone"), Interval(29, "ready", "waits")], 0, 30), 5.0, 30)
    assert [(gap.start, gap.end, gap.why) for gap in shown] == [(0, 30, GapReason.LOST)]


def test_current_gap_is_shown_at_any_duration() -> None:
    found = find_gaps([row(0, 10), row(10.5, 29.5)], [Interval(0, "ready", "")], 0, 30)
    assert [(gap.start, gap.end) for gap in drop_short(found, 1.0, 30)] == [(29.5, 30)]


TIMES = st.lists(st.floats(0, 100, allow_nan=False), max_size=20, unique=True).map(sorted)
WORDS = st.sampled_from([("ready", ""), ("ready", "waits"), ("lost", "x"), ("down", "y"), ("dedicated", "z")])


@given(TIMES, st.lists(st.tuples(st.floats(-20, 120), WORDS), max_size=10), st.floats(0, 100))
def test_trials_and_gaps_cover_all_time_once(ends: list[float], recorded: list[Any], planned_at: float) -> None:
    rows = [row(start, end, planned_at) for start, end in zip(ends[::2], ends[1::2], strict=False)]
    intervals = sorted((Interval(at, *words) for at, words in recorded), key=lambda interval: interval.at)
    found = find_gaps(rows, intervals, 0, 100)
    pieces = sorted([(gap.start, gap.end) for gap in found] + [(one.start, one.end) for one in rows])
    assert all(one[1] == other[0] for one, other in pairwise(pieces))
    assert not pieces or (pieces[0][0], pieces[-1][1]) == (0, 100)
    assert sum(end - start for start, end in pieces) == pytest.approx(100)


EXPLAINED_BY_NEXT = [  # the second interval has the reason of the third, which is merged with others
    (0.0, ("lost", "x")), (0.0, ("ready", "waits")), (30.0, ("ready", "")), (35.0, ("dedicated", "z")),
    (36.0, ("lost", "x")),
    (45.0, ("down", "y")), (55.0, ("lost", "x")), (56.0, ("down", "y")), (65.0, ("lost", "x")), (66.0, ("down", "y")),
    (70.0, ("lost", "x")), (71.0, ("down", "y")),
]  # fmt: skip


@given(TIMES, st.lists(st.tuples(st.floats(-20, 120), WORDS), max_size=60), st.sampled_from([1.0, 7.0, 40.0]))
@example([], EXPLAINED_BY_NEXT, 40.0)
def test_merged_intervals_keep_the_duration_of_each_reason(
    ends: list[float], recorded: list[Any], bucket_s: float
) -> None:
    rows = [row(start, end) for start, end in zip(ends[::2], ends[1::2], strict=False)]
    intervals = sorted(((at, *words) for at, words in recorded), key=lambda interval: interval[0])
    intervals = [
        interval for index, interval in enumerate(intervals) if not index or interval[1:] != intervals[index - 1][1:]
    ]
    exact, short = defaultdict[tuple[GapReason, str], float](float), defaultdict[tuple[GapReason, str], float](float)
    for gap in find_gaps(rows, [Interval(*interval) for interval in intervals], 0, 100):
        exact[gap.why, gap.reason] += gap.duration_s
    few, shares = merge_short(intervals, rows, TimelineInterval(0, 100, bucket_s))
    found = find_gaps(rows, few, 0, 100)
    for gap in found:
        short[gap.why, gap.reason] += gap.duration_s if gap.of == 1 else 0
    for (state, reason), share in shares.items():
        short[reason_of(state), reason] += share.duration_s
    assert {key: long_s for key, long_s in short.items() if long_s > 1e-6} == pytest.approx(
        {key: long_s for key, long_s in exact.items() if long_s > 1e-6}
    )
    assert sum(gap.duration_s for gap in found) == pytest.approx(sum(exact.values()))


def test_many_intervals_are_merged_into_few_gaps_with_counts() -> None:
    words = [("ready", "waits"), ("lost", "x"), ("ready", "waits"), ("drained", "y")]
    intervals = [(step / 10, *words[step % 4]) for step in range(10_000)]
    few, shares = merge_short(intervals, [], TimelineInterval(0, 1000, 10.0))
    assert len(few) < 110
    found = find_gaps([], few, 0, 1000)
    assert Gap(10.0, 20.0, GapReason.IDLE, "waits", 100) in found
    assert shares["lost", "x"].duration_s == pytest.approx(250, abs=0.2)
    assert shares["lost", "x"].intervals == pytest.approx(2500, abs=2)


def test_number_of_returned_gaps_is_bounded(service: ServiceRig, client: TestClient) -> None:
    service.commit(*(device_state("ready", f"waits for {turn % 2}", T + 2 * turn) for turn in range(1300)))
    (found,) = read(client, **{"from": T, "to": T + 2600})["devices"]
    assert len(found["gaps"]["start_s"]) < 610
    assert found["idle_s"] == 2600 and len(found["reasons"]) == 2
    assert sum(found["gaps"]["gaps"]) == sum(reason["gaps"] for reason in found["reasons"]) == 1300
