"""When the scheduler reads the requests of clients."""

from __future__ import annotations

from collections.abc import Callable

from podium.sweep.lifecycle.scheduler_inbox_messages import Stop
from podium.sweep.scheduling.read_pacing import TICK_S, ReadPacing
from podium.sweep.values.failure_causes import Cause
from tests.rig import Rig

MakeRig = Callable[..., Rig]


def _read(now_s: float = 10.0) -> ReadPacing:
    """The last read was at `now_s`."""
    pacing = ReadPacing()
    assert pacing.start_read(now_s, woken=False, busy=False)
    return pacing


def test_first_step_reads_and_explains() -> None:
    pacing = ReadPacing()
    assert pacing.wait_s(0.0) == 0.0
    assert pacing.start_read(0.0, woken=False, busy=False)
    assert pacing.start_explanation()


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
    assert pacing.start_explanation()
    assert pacing.start_read(10.1, woken=True, busy=True)
    assert not pacing.start_explanation()
    assert pacing.start_read(11.0, woken=True, busy=True)
    assert pacing.start_explanation()


def test_wake_up_gives_no_reasons_before_the_next_tick(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    rig.recorder.drained = {"cpu-0": "the fan is loud"}
    sweep_id = rig.submit(run_cap=1).sweep_id
    assert rig.sweep(sweep_id).wait is None
    rig.tick()
    assert rig.sweep(sweep_id).wait is not None


def test_scheduler_waits_until_the_next_read(rig: Rig) -> None:
    rig.tick()
    assert rig.scheduler.wait_s() == TICK_S
    rig.clock.advance(0.75)
    assert rig.scheduler.wait_s() == 0.25
    rig.clock.advance(2.0)
    assert rig.scheduler.wait_s() == 0.0
    rig.scheduler.step([])
    assert rig.scheduler.wait_s() == TICK_S


def test_scheduler_waits_for_a_tick_while_it_must_not_read(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.recorder.full = True
    rig.pool.finish("cpu-0")
    rig.settle()
    rig.clock.advance(2 * TICK_S)
    assert rig.scheduler.wait_s() == TICK_S, "the database rejects writes"
    rig.recorder.full = False
    rig.tick()
    rig.clock.advance(2 * TICK_S)
    assert rig.scheduler.wait_s() == 0.0
    rig.scheduler.step([Stop()])
    assert rig.scheduler.wait_s() == TICK_S, "the scheduler stops"


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
