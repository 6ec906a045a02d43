"""When the scheduler reads the requests of clients."""

from __future__ import annotations

from podium.sweep.scheduling.read_pacing import TICK_S, ReadPacing
from podium.sweep.values.failure_causes import Cause
from tests.rig import Rig


def _read(now_s: float = 10.0) -> ReadPacing:
    """The last read was at `now_s`."""
    pacing = ReadPacing()
    assert pacing.start_read(now_s, woken=False, busy=False)
    return pacing


def test_first_step_reads_and_explains() -> None:
    pacing = ReadPacing()
    assert pacing.wait_s(0.0) == 0.0
    assert pacing.start_read(0.0, woken=False, busy=False)
    assert pacing.start_explanation(0.0)


def test_tick_reads_in_a_step_without_messages() -> None:
    pacing = _read()
    assert not pacing.start_read(10.9, woken=False, busy=False)
    assert not pacing.start_read(11.0, woken=False, busy=True)
    assert pacing.wait_s(11.0) == 0.0, "the next step must come at once"
    assert pacing.start_read(11.0, woken=False, busy=False)
    assert pacing.wait_s(11.25) == 0.75


def test_messages_delay_a_read_by_one_tick_at_most() -> None:
    pacing = _read()
    assert [pacing.start_read(now_s, woken=False, busy=True) for now_s in (11.9, 12.0, 12.1)] == [False, True, False]


def test_wake_up_is_read_at_once_and_explains_once_a_tick() -> None:
    pacing = _read()
    assert pacing.start_explanation(10.0)
    assert pacing.start_read(10.1, woken=True, busy=True)
    assert not pacing.start_explanation(10.1)
    assert pacing.start_read(11.0, woken=True, busy=True)
    assert pacing.start_explanation(11.0)


def test_end_of_a_trial_is_handled_before_a_request_without_a_wake_up(rig: Rig) -> None:
    sweep = rig.submit(run_cap=9)
    running = len(rig.pool.placed)
    rig.recorder.cancel(sweep.sweep_id)
    rig.clock.advance(TICK_S)
    rig.pool.finish("cpu-0")
    rig.scheduler.step(rig.receive())
    assert len(rig.pool.placed) == running + 1, "the next trial waited for the read"
    rig.scheduler.step([])
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED]
