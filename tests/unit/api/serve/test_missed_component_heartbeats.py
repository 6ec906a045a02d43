"""Components with missed heartbeats; a suspension of the supervisor does not count."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from podium.api.serve.missed_component_heartbeats import Heartbeats, MissedHeartbeats
from podium.sweep.runtime.component_startup_and_heartbeats import READY_FD, SupervisorPipe


def check_each_second(
    heartbeats: Heartbeats, until_s: int, since_s: int = 0, *, traced: bool = False
) -> tuple[set[str], set[str]]:
    """The silent and the hung components at the last check."""
    missed = MissedHeartbeats(set(), {})
    for now_s in range(since_s, until_s + 1):
        missed = heartbeats.check(now_s, lambda _: traced)
    return missed.silent, set(missed.hung)


def test_component_without_a_heartbeat_is_not_watched() -> None:
    assert check_each_second(Heartbeats(), 1_000) == (set(), set())


@pytest.mark.parametrize("name", ["api", "scheduler"])
def test_component_is_silent_after_10_s_and_hung_after_25_s(name: str) -> None:
    heartbeats = Heartbeats()
    heartbeats.record(name, 0.0)
    assert check_each_second(heartbeats, 9) == (set(), set())
    assert check_each_second(heartbeats, 24, 10) == ({name}, set())
    assert heartbeats.check(25.0) == ({name}, {name: 25.0})


def test_component_in_a_debugger_is_silent_and_not_hung() -> None:
    heartbeats = Heartbeats()
    heartbeats.record("api", 0.0)
    assert check_each_second(heartbeats, 600, traced=True) == ({"api"}, set())
    assert check_each_second(heartbeats, 624, 601) == ({"api"}, set()), "it has time for a heartbeat"
    assert check_each_second(heartbeats, 625, 625) == ({"api"}, {"api"})


def test_only_silent_components_are_looked_at() -> None:
    heartbeats = Heartbeats()
    looked: list[str] = []
    heartbeats.record("api", 0.0)
    heartbeats.record("host", 8.0)
    for now_s in (5.0, 12.0):
        heartbeats.check(now_s, lambda name: looked.append(name) or False)  # type: ignore[func-returns-value]
    assert looked == ["api"]


def test_heartbeat_or_restart_ends_silence() -> None:
    heartbeats = Heartbeats()
    for name in ("scheduler", "host"):
        heartbeats.record(name, 0.0)
    assert check_each_second(heartbeats, 20)[0] == {"scheduler", "host"}
    heartbeats.record("scheduler", 20.0)
    heartbeats.forget("host")
    assert check_each_second(heartbeats, 29, since_s=21) == (set(), set())
    assert heartbeats.is_watched("scheduler") and not heartbeats.is_watched("host")


def test_limits_restart_after_a_suspension_of_the_supervisor() -> None:
    heartbeats = Heartbeats()
    heartbeats.record("scheduler", 0.0)
    check_each_second(heartbeats, 9)
    assert heartbeats.check(514.0) == (set(), {})
    assert check_each_second(heartbeats, 523, since_s=515) == (set(), set())
    assert check_each_second(heartbeats, 524, since_s=524)[0] == {"scheduler"}


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """The pipe that `serve` gives a component."""
    read_fd, write_fd = os.pipe()
    os.set_blocking(read_fd, False)
    monkeypatch.setenv(READY_FD, str(write_fd))
    yield read_fd, write_fd
    for descriptor in (read_fd, write_fd):
        os.close(descriptor)


def test_component_reports_ready_and_beats_once_a_second(pipe: tuple[int, int]) -> None:
    clock = iter((1_000.0, 1_000.4, 1_001.0, 1_001.2))
    to_serve = SupervisorPipe.from_environment(clock=lambda: next(clock))
    to_serve.say_ready()
    for _ in range(4):
        to_serve.beat()
    assert os.read(pipe[0], 100) == b"ready\n.."
    assert READY_FD not in os.environ
    assert not os.get_inheritable(pipe[1])


def test_full_pipe_does_not_block_the_component(pipe: tuple[int, int]) -> None:
    to_serve = SupervisorPipe.from_environment(beat_s=0.0)
    for _ in range(70_000):  # more than the pipe holds
        to_serve.beat()
    assert len(os.read(pipe[0], 1 << 20)) == 1 << 16
