"""Sums over the attempts of a sweep, computed in one pass: equal to those computed attempt by attempt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event, insert, select, update
from sqlalchemy.engine import Engine

from podium.db.schema.tables import attempt_ranks, attempts
from podium.db.stores import attempt_totals, sweeps
from podium.db.stores.attempt_totals import AttemptTotals, EndedTotals
from podium.sweep.values.states import SweepState
from tests.service_rig import AT, ServiceRig

# Start, end, device seconds and number of devices. An attempt without device seconds runs, or was placed by an earlier
# version.
Times = tuple[float, float | None, float | None, float]
ATTEMPTS: list[Times] = [(1.0, 5.0, 3.5, 1.0), (2.0, None, None, 2.0), (4.0, 9.0, None, 1.0), (30.0, None, 6.0, 1.0)]


def sweep_with(service: ServiceRig, rows: list[Times]) -> int:
    """A sweep of one trial with these attempts, next to another sweep with a trial."""
    service.trial(service.sweep(), 0, 0.5, model=False)
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, None, model=False)
    values = [
        {
            "started_at": AT + start,
            "ended_at": None if end is None else AT + end,
            "device_s": held_s,
            "devices": width,
        }
        for start, end, held_s, width in rows
    ]
    more = [
        {"trial_id": trial_id, "number": number, "device_id": "cpu-0", **each}
        for number, each in enumerate(values[1:], start=2)
    ]
    with service.database.write() as connection:
        connection.execute(update(attempts).where(attempts.c.trial_id == trial_id).values(values[0]))
        if more:
            connection.execute(insert(attempts), more)
    return sweep_id


def test_totals_include_running_attempts_in_device_seconds_only(service: ServiceRig) -> None:
    sweep_id = sweep_with(service, ATTEMPTS)
    with service.database.read() as connection:
        totals = attempt_totals.totals(connection, sweep_id, AT + 10)
        assert totals == AttemptTotals(3.5 + 2 * 8 + 6 + 6, 4 + 5, AT + 1, AT + 9, open=3)
        assert attempt_totals.device_s(connection, sweep_id, AT + 10) == totals.device_s
        assert attempt_totals.device_s(connection, sweep_id) == 9.5
        before_any = attempt_totals.totals(connection, sweep_id, AT)
        assert before_any.device_s == 9.5, "time is not negative if the clock was set back"
    assert totals.busy_share(["cpu-0", "cpu-1"]) == pytest.approx(9 / 16)
    assert totals.busy_share(["cpu-0"]) is None, "a device has left"


def test_busy_share_needs_an_end_and_a_device(service: ServiceRig) -> None:
    running: Times = (2.0, None, None, 1.0)
    without_time: Times = (2.0, 2.0, 0.0, 1.0)
    for attempt in (running, without_time):
        sweep_id = sweep_with(service, [attempt])
        with service.database.read() as connection:
            assert attempt_totals.totals(connection, sweep_id, AT + 10).busy_share(["cpu-0"]) is None
    assert AttemptTotals(1.0, 1.0, AT, AT + 2, open=0).busy_share([]) is None
    with service.database.read() as connection:
        assert attempt_totals.totals(connection, 99, AT) == AttemptTotals(0.0, None, None, None, open=0)


def test_busy_share_counts_several_devices_and_parts_of_one(service: ServiceRig) -> None:
    sweep_id = sweep_with(service, [(0.0, 4.0, 8.0, 2.0), (4.0, 8.0, 2.0, 0.5), (4.0, 8.0, 2.0, 0.5)])
    with service.database.read() as connection:
        totals = attempt_totals.totals(connection, sweep_id, AT + 9)
    slots = ["cpu-0", "cpu-0.1", "cpu-1", "cpu-1.1"]
    assert totals.busy_share(slots) == pytest.approx(12 / 16)


def test_busy_share_of_an_ended_sweep_counts_devices_that_have_left(service: ServiceRig) -> None:
    sweep_id = sweep_with(service, [(0.0, 4.0, 4.0, 1.0), (0.0, 4.0, 4.0, 1.0)])
    with service.database.write() as connection:
        connection.execute(update(attempts).where(attempts.c.number == 2).values(device_id="b:cpu-0"))
    with service.database.read() as connection:
        ended = replace(sweeps.get(connection, sweep_id), state=SweepState.FINISHED, ended_at=AT + 4)
        totals = EndedTotals().of(connection, ended, AT + 9)
    assert totals.used == {"cpu-0", "b:cpu-0"}
    assert totals.busy_share(["cpu-0"]) == totals.busy_share(["cpu-0", "b:cpu-0"]) == 1.0
    assert totals.busy_share(["cpu-0", "b:cpu-0", "b:cpu-1", "cpu-1"]) == 0.5


def test_busy_share_of_an_ended_sweep_counts_the_devices_of_all_ranks(service: ServiceRig) -> None:
    sweep_id = sweep_with(service, [(0.0, 4.0, 16.0, 4.0)])
    with service.database.write() as connection:
        trial_id = connection.execute(select(attempts.c.trial_id).where(attempts.c.devices == 4.0)).scalar_one()
        ranks = [
            {"trial_id": trial_id, "number": 1, "rank": rank, "device_id": f"b:gpu-{rank}", "started_at": AT}
            for rank in range(4)
        ]
        connection.execute(update(attempts).where(attempts.c.devices == 4.0).values(device_id="b:gpu-0"))
        connection.execute(insert(attempt_ranks), ranks)
    with service.database.read() as connection:
        ended = replace(sweeps.get(connection, sweep_id), state=SweepState.FINISHED, ended_at=AT + 4)
        totals = EndedTotals().of(connection, ended, AT + 9)
    assert totals.busy_share([f"cpu-{position}" for position in range(4)]) == 0.5


def test_totals_of_an_ended_sweep_are_remembered_until_it_ends_again(service: ServiceRig) -> None:
    ended = EndedTotals()
    first = sweep_with(service, [(1.0, 5.0, 4.0, 1.0)])
    with service.database.read() as connection:
        running = sweeps.get(connection, first)
        finished = replace(running, state=SweepState.FINISHED, ended_at=AT + 5)
        assert ended.of(connection, running, AT + 9).device_s == 4.0
        assert ended.of(connection, finished, AT + 9).device_s == 4.0
    with service.database.write() as connection:
        connection.execute(update(attempts).values(device_s=7.0))
    with service.database.read() as connection:
        assert ended.of(connection, finished, AT + 9).device_s == 4.0, "not read again"
        assert ended.of(connection, running, AT + 9).device_s == 7.0, "a sweep that runs is read each time"
        assert ended.of(connection, replace(finished, ended_at=AT + 20), AT + 30).device_s == 7.0


def test_totals_with_an_open_attempt_are_not_remembered(service: ServiceRig) -> None:
    ended = EndedTotals()
    sweep_id = sweep_with(service, [(2.0, None, None, 1.0)])
    with service.database.read() as connection:
        cancelled = replace(sweeps.get(connection, sweep_id), state=SweepState.CANCELLED, ended_at=AT + 5)
        assert [ended.of(connection, cancelled, AT + at).device_s for at in (6, 8)] == [4.0, 6.0]


def test_page_of_a_sweep_reads_its_attempts_once(service: ServiceRig) -> None:
    sweep_id = sweep_with(service, ATTEMPTS)
    client = service.client()
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "FROM attempts JOIN trials" in " ".join(statement.split()) and "trials.sweep_id =" in statement:
            found.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        shown = client.get(f"/api/v1/sweeps/{sweep_id}").json()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len(found) == 1, found
    assert shown["budget"]["device_s"]["used"] > 15.5
