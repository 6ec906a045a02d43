"""Benchmarks: small runs end to end, and the completeness of stored results."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import load, processor_time, results
from benchmarks.ensemble_servers import BENTOML
from benchmarks.results import Figure, Row, at_least, at_most, more, ratio, times_less, times_more
from benchmarks.simulation import Agenda, SimulatedClock, SimulatedSlots, least_s, simulate
from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, SlotEvents
from tests.postgres_server import is_installed

FIELDS = {
    "row", "work", "podium", "peer_name", "peer", "ratio", "target", "reached", "repetitions", "notes", "date",
    "machine", "versions",
}  # fmt: skip


def check(row: dict[str, Any]) -> None:
    """Assert that a row is complete and each figure is within its own spread."""
    assert set(row) == FIELDS
    assert row["podium"]
    assert row["reached"] is all(target["reached"] for target in row["target"])
    assert bool(row["peer"]) is bool(row["peer_name"]) is bool(row["ratio"])
    for figure in [*row["podium"], *row["peer"]]:
        assert figure["samples"]
        assert figure["min"] <= figure["median"] <= figure["max"]
        assert figure["unit"]
    assert {"cores", "load_1min", "fsync_ms"} <= set(row["machine"])
    assert {"python", "torch", "ray", "optuna", "sqlite"} <= set(row["versions"])


@pytest.mark.slow
def test_search_storage_and_simulated_slot_benchmarks_write_complete_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmarks.main(["--quick", "--only", "3,4", "--output", str(tmp_path)])
    rows = results.load(tmp_path)
    assert [row["row"] for row in rows] == [3, 4]
    for row in rows:
        check(row)
    table = (tmp_path / "results.md").read_text("utf-8")
    assert capsys.readouterr().out == table
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| 3", "| 4"]


def test_results_in_repository_are_complete() -> None:
    rows = results.load(results.FOLDER)
    assert [row["row"] for row in rows] == sorted({row["row"] for row in rows})
    for row in rows:
        check(row)
    assert (results.FOLDER / "results.md").read_text("utf-8") == results.table(rows)


def test_repeated_measurement_replaces_row(tmp_path: Path) -> None:
    def row(number: int, value: float) -> dict[str, Any]:
        return Row(number, "some work", [Figure("a trial", "ms", (value,))], 1).to_dict({"date": "today"})

    results.save(tmp_path, [row(3, 1.0), row(1, 2.0)])
    results.save(tmp_path, [row(3, 4.0)])
    kept = json.loads((tmp_path / "results.json").read_text("utf-8"))["rows"]
    assert [(row["row"], row["podium"][0]["median"]) for row in kept] == [(1, 2.0), (3, 4.0)]


def test_targets_are_compared_with_medians() -> None:
    podium, peer = Figure("a trial", "ms", (1.0, 2.0, 90.0)), Figure("a trial", "ms", (21.0, 20.0, 1.0))
    assert ratio(podium, peer) == 10
    assert [times_less(podium, peer, times).reached for times in (10, 10.1)] == [True, False]
    assert more(peer, podium) == 10
    assert [times_more(peer, podium, times).reached for times in (10, 10.1)] == [True, False]
    assert [at_most(podium, limit).reached for limit in (2, 1.9)] == [True, False]
    assert [at_least(podium, limit).reached for limit in (2, 2.1)] == [True, False]


@pytest.mark.parametrize("text", ["5x", "", "99"])
def test_unknown_row_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        benchmarks.main(["--only", text])
    assert "--only" in capsys.readouterr().err


def test_minimum_time_assigns_next_trial_to_each_free_slot() -> None:
    assert least_s([1.0] * 17, 16) == 2
    assert least_s([3.0, 1.0, 1.0, 1.0], 2) == 3


@pytest.mark.parametrize("slots_of_node", [0, 2], ids=["on the head", "on nodes"])
def test_simulated_sweep_runs_every_trial_and_is_never_faster_than_ideal(tmp_path: Path, slots_of_node: int) -> None:
    outcome = simulate(tmp_path, slots=4, trials=10, trial_s=60.0, slots_of_node=slots_of_node)
    assert 0 < outcome.efficiency <= 1


def test_heartbeats_during_a_long_step_arrive_with_the_next_one() -> None:
    clock, agenda, inbox = SimulatedClock(), Agenda(), Inbox()
    pool = SimulatedSlots(2, inbox, clock, agenda, trial_s=1.0, slots_of_node=1)
    for opened in pool.opened():
        pool.send(opened.device.device_id, 0, ())
    pool.take_effect()
    clock.now_s += 5.0  # a step
    agenda.do_until(clock.now_s)
    assert [inbox.get_nowait() for _ in range(2)] == [SlotEvents(f"n{node}:cpu-0", ()) for node in range(2)]


async def _serve_one_by_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers in two pieces, every second request with 503; closes after four."""
    for number in range(4):
        await reader.readexactly(len(REQUEST))
        body = b'{"answered":%d}' % number
        writer.write(b"HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n" % (503 if number % 2 else 200, len(body)))
        await writer.drain()
        writer.write(body)
    await reader.readexactly(len(REQUEST))
    writer.close()


REQUEST = load.request("/predict", b"{}", {"Authorization": "Bearer x"})


def test_load_records_every_response_and_its_outcome() -> None:
    async def under_load() -> load.LoadResult:
        server = await asyncio.start_server(_serve_one_by_one, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await asyncio.to_thread(load.ask, port, REQUEST, 2, 0.5)

    heard = asyncio.run(under_load())
    assert {(answer.status, answer.answered) for answer in heard.answers} == {
        (200, 0), (503, 1), (200, 2), (503, 3), (load.NO_ANSWER, 0),
    }  # fmt: skip
    assert all(answer.status == 200 for answer in heard.good)
    assert heard.per_second == len(heard.good) / heard.seconds
    assert 0 < heard.took_ms(0.5) <= heard.took_ms(1.0)
    assert heard.processor_s > 0


async def _serve_whole_from(count: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers of two members at first, and of three from answer `count` on."""
    for number in itertools.count():
        try:
            await reader.readexactly(len(REQUEST))
        except asyncio.IncompleteReadError:
            break
        body = b'{"answered":%d}' % (2 if number < count else 3)
        writer.write(b"HTTP/1.1 200 -\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    writer.close()


@pytest.mark.parametrize("told_s", [0.0, 0.5])  # before the process reads its first line, and while it asks
def test_load_ends_at_first_response_of_all_members(told_s: float) -> None:
    async def under_load() -> load.LoadResult:
        server = await asyncio.start_server(functools.partial(_serve_whole_from, 20), "127.0.0.1", 0)
        async with server:
            asking = load.start(server.sockets[0].getsockname()[1], REQUEST, 1, 250.0)
            await asyncio.sleep(told_s)
            asking.end_when_all_answer(3, time.monotonic())
            return await asyncio.to_thread(asking.wait)

    heard = asyncio.run(under_load())
    assert heard.seconds < 200, "it ended before its time limit"
    assert heard.answers[-1].answered == 3
    if told_s == 0.0:
        assert [answer.answered for answer in heard.answers] == [2] * 20 + [3]


def test_processor_time_is_attributed_to_component() -> None:
    used = processor_time.used_s(os.getpid(), lambda process: "tests")
    assert used["tests"] > 0
    spent = processor_time.between({"a": 1.0}, {"a": 2.0, "b": 3.0})
    assert spent == {"a": 1.0, "b": 3.0}
    assert processor_time.shares(spent, 2.0) == "b 1.50, a 0.50"


def test_ended_process_has_no_descendants() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert [process.pid for process in processor_time.descendants(os.getpid()) if process.pid == child.pid]
        child.kill()
    assert processor_time.descendants(child.pid) == []


def test_process_has_no_kind_when_it_ends_during_inspection() -> None:
    def name(process: psutil.Process) -> str:
        if process.pid == ended.pid:
            raise psutil.NoSuchProcess(process.pid)
        return "member" if process.pid == member.pid else "other"

    with subprocess.Popen(["sleep", "60"]) as ended, subprocess.Popen(["sleep", "60"]) as member:
        try:
            assert processor_time.named(os.getpid(), name, "member") == (member.pid,)
        finally:
            ended.kill()
            member.kill()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [7, 8])  # trains networks, and starts two services and the peers
def test_ensembles_run_against_peers(tmp_path: Path, number: int) -> None:
    for package in ("ray.serve", "litserve"):
        pytest.importorskip(package, exc_type=ImportError)  # needs the extra `bench`
    if not BENTOML.exists():
        pytest.skip("BentoML has an environment of its own, which `make test-extras` installs")
    benchmarks.main(["--quick", "--only", str(number), "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    check(row)
    assert row["row"] == number


@pytest.mark.timeout(200)
@pytest.mark.slow
def test_points_are_ingested_during_reads(tmp_path: Path) -> None:
    benchmarks.main(["--quick", "--only", "10", "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    check(row)
    assert row["row"] == 10


@pytest.mark.timeout(200)
@pytest.mark.slow
def test_storage_is_compared_on_postgres(tmp_path: Path) -> None:
    if not is_installed():
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    benchmarks.main(["--quick", "--only", "22", "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    check(row)
    assert {"recorder, stored", "tpe, a trial", "the end of a trial, p50", "200: 50 curves"} <= {
        figure["name"] for figure in row["podium"]
    }
    assert set(row["ratio"]) == {
        "tpe, a trial", "random, a trial", "the end of a trial, p50", "recorder without readers, stored",
        "recorder, stored",
    }  # fmt: skip


@pytest.mark.slow
def test_shared_data_is_one_copy(tmp_path: Path) -> None:
    benchmarks.main(["--quick", "--only", "12", "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    check(row)
    (podium, *_), (peer, *_) = row["podium"], row["peer"]
    assert podium["median"] < peer["median"] / 2


@pytest.mark.slow
def test_proposals_are_timed_in_each_space(tmp_path: Path) -> None:
    benchmarks.main(["--quick", "--only", "15", "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    check(row)
    assert set(row["ratio"]) == {f"{space} after 250" for space in ("6 floats", "6 floats, close", "conditional")}


@pytest.mark.slow
def test_search_quality_is_compared_with_optunas(tmp_path: Path) -> None:
    benchmarks.main(["--quick", "--only", "16", "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    check(row)
    assert row["reached"]


@pytest.mark.slow
def test_a_slow_replica_delays_the_peer_but_not_spares(tmp_path: Path) -> None:
    benchmarks.main(["--quick", "--only", "19", "--output", str(tmp_path)])
    (row,) = results.load(tmp_path)
    check(row)
    assert [figure["name"] for figure in row["peer"]][:2] == [
        "DistributedDataParallel, undisturbed", "DistributedDataParallel, one slow"
    ]  # fmt: skip
