"""Notifications on real rows through Apprise to a receiver on loopback: what is sent, once, and what is never shown."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.api.notifications.delivery import Delivery, DeliveryError
from podium.api.notifications.notification_target_file import NotificationKind, Target, read_targets
from podium.api.notifications.notifier import MAX_AGE_S, Notifier
from podium.db.integrity import undelivered_notifications
from podium.db.stores import ensemble_writer, notification_outbox
from podium.ensemble.values.ensemble_states import EnsembleState
from podium.sweep.lifecycle.database_changes import AttemptPlaced, SweepChanged, TrialPlanned
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import ServiceError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState
from podium.sweep.values.sweep_wait_reason import Wait, WaitReason
from tests.http_receiver import SECRET, Receiver
from tests.service_rig import AT, ServiceRig, nonce

URL = "http://podium.test:8300"


class ManualClock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now_s = AT + 100

    def wall_s(self) -> float:
        return self.now_s

    def monotonic_s(self) -> float:
        return self.now_s


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver()
    yield started
    started.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def _file(folder: Path, *lines: str, mode: int = 0o600) -> Path:
    file = folder / "targets"
    file.write_text("\n".join(lines) + "\n")
    file.chmod(mode)
    return file


class Rig:
    """A notifier that is stepped by hand."""

    def __init__(self, service: ServiceRig, clock: ManualClock, *targets: Target) -> None:
        self.deliveries = [Delivery(target) for target in targets]
        self.notifier = Notifier(service.database, self.deliveries, URL, clock=clock)

    def step(self) -> None:
        """Follow all events, and deliver what is due."""
        while self.notifier.follow():
            pass
        for delivery in self.deliveries:
            while self.notifier.deliver(delivery):
                pass


@pytest.fixture
def target(receiver: Receiver, tmp_path: Path) -> Target:
    return read_targets(_file(tmp_path, receiver.url))[0]


def _states(service: ServiceRig) -> list[tuple[str, int]]:
    with service.database.read() as connection:
        return [(row.state, row.tries) for row in connection.execute(text("SELECT * FROM notifications ORDER BY id"))]


def test_sweeps_that_end_are_told_once_also_after_a_restart(
    service: ServiceRig, receiver: Receiver, clock: ManualClock, target: Target
) -> None:
    service.end_sweep(service.sweep(name="before"))
    rig = Rig(service, clock, target)
    done, broken = service.sweep(name="good"), service.sweep(name="bad")
    service.end_sweep(done)
    service.end_sweep(broken, SweepState.FAILED)
    service.end_sweep(service.sweep(name="mine"), SweepState.CANCELLED)
    rig.step()
    assert receiver.titles == ["Podium: sweep good finished", "Podium: sweep bad failed"]
    assert receiver.got[0]["message"] == f"over\n{URL}/sweeps/{done}"
    assert [each["type"] for each in receiver.got] == ["info", "failure"]
    rig.step()
    Rig(service, clock, target).step()
    assert len(receiver.got) == 2


def test_events_of_a_time_without_a_notifier_are_sent_if_they_are_recent(
    service: ServiceRig, receiver: Receiver, clock: ManualClock, target: Target
) -> None:
    Rig(service, clock, target).step()
    service.end_sweep(service.sweep(name="meanwhile"))
    Rig(service, clock, target).step()
    assert receiver.titles == ["Podium: sweep meanwhile finished"]
    service.end_sweep(service.sweep(name="long ago"))
    clock.now_s += MAX_AGE_S + 200
    Rig(service, clock, target).step()
    assert len(receiver.got) == 1


def test_targets_get_the_kinds_that_they_name(
    service: ServiceRig, receiver: Receiver, clock: ManualClock, tmp_path: Path
) -> None:
    targets = read_targets(_file(tmp_path, "# of the team", f"failed, stalled = {receiver.url}"))
    assert [(each.line, each.kinds) for each in targets] == [
        (2, frozenset({NotificationKind.FAILED, NotificationKind.STALLED}))
    ]
    rig = Rig(service, clock, *targets)
    service.end_sweep(service.sweep(name="good"))
    service.end_sweep(service.sweep(name="bad"), SweepState.FAILED)
    rig.step()
    assert receiver.titles == ["Podium: sweep bad failed"]


def test_degraded_ensemble_is_told(service: ServiceRig, receiver: Receiver, clock: ManualClock, target: Target) -> None:
    sweep_id = service.sweep()
    ensemble = service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.5)], "three\nof them")
    rig = Rig(service, clock, target)
    with service.database.write() as connection:
        ensemble_writer.change(connection, ensemble, EnsembleState.READY, "", AT)
        ensemble_writer.change(connection, ensemble, EnsembleState.DEGRADED, "member 2 is down", AT)
    rig.step()
    assert receiver.titles == ["Podium: ensemble three of them is degraded"]
    assert receiver.got[0]["message"] == f"member 2 is down\n{URL}/ensembles/{ensemble}"


def test_sweep_that_cannot_run_is_told_once_until_a_trial_starts(
    service: ServiceRig, receiver: Receiver, clock: ManualClock, target: Target
) -> None:
    rig = Rig(service, clock, target)
    sweep_id = service.sweep(name="stuck")
    wait = Wait(WaitReason.NO_MATCHING_DEVICE, "no GPU is up")
    service.commit(SweepChanged(sweep_id, SweepState.QUEUED, SweepState.QUEUED, "", AT, wait=wait))
    rig.step()
    clock.now_s += 599
    rig.step()
    assert receiver.titles == []
    clock.now_s += 2
    rig.step()
    assert receiver.titles == ["Podium: sweep stuck is stalled"]
    assert receiver.got[0]["message"].startswith("no GPU is up\n")
    clock.now_s += 5000
    again = Rig(service, clock, target)
    again.step()
    clock.now_s += 5000
    again.step()
    assert len(receiver.got) == 1
    plan = TrialPlanned(1, sweep_id, 0, {"lr": 0.01}, "random", {}, AT)
    service.commit(plan, AttemptPlaced(AttemptKey(1, 1), sweep_id, 0, "cpu-0", "node", AT, nonce(0)))
    service.commit(SweepChanged(sweep_id, SweepState.QUEUED, SweepState.RUNNING, "", AT, wait=None))
    again.step()
    service.commit(SweepChanged(sweep_id, SweepState.RUNNING, SweepState.RUNNING, "", AT, wait=wait))
    again.step()
    clock.now_s += 601
    again.step()
    assert receiver.titles == ["Podium: sweep stuck is stalled"] * 2


def test_first_trial_without_progress_is_told(
    service: ServiceRig, receiver: Receiver, clock: ManualClock, target: Target
) -> None:
    rig = Rig(service, clock, target)
    sweep_id = service.sweep(name="slow")
    for number in range(3):
        service.trial(sweep_id, number, None, cause=Cause.STALLED)
    service.trial(sweep_id, 3, None, cause=Cause.USER_ERROR)
    rig.step()
    assert receiver.titles == ["Podium: sweep slow has a trial without progress: trial 0"]


def test_target_that_fails_is_tried_again_and_noted_without_its_secret(
    service: ServiceRig,
    receiver: Receiver,
    clock: ManualClock,
    target: Target,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
) -> None:
    caplog.set_level(logging.DEBUG)
    written = io.StringIO()  # what a component writes: caplog also has the records of loggers that do not propagate
    handler = logging.StreamHandler(written)
    logging.getLogger().addHandler(handler)
    request.addfinalizer(lambda: logging.getLogger().removeHandler(handler))
    receiver.status = 503
    rig = Rig(service, clock, target)
    service.end_sweep(service.sweep(name="good"))
    rig.step()
    rig.step()
    assert _states(service) == [("waiting", 1)]
    with service.database.read() as connection:
        (note,) = undelivered_notifications.failing_targets(connection)
    assert note.rows == {"target": "line 1 (json)"}
    assert "not delivered: HTTP status 503; 1 wait, 0 were not sent" in note.wrong
    clock.now_s += 6
    rig.step()
    assert _states(service) == [("waiting", 2)]
    receiver.status = 200
    clock.now_s += 31
    rig.step()
    assert (_states(service), len(receiver.got)) == ([("sent", 3)], 3)
    with service.database.read() as connection:
        assert list(undelivered_notifications.failing_targets(connection)) == []
        stored = str(connection.execute(text("SELECT * FROM notifications")).all())
    said = written.getvalue() + stored + repr(target) + note.wrong
    assert "line 1 (json): not delivered: HTTP status 503" in written.getvalue()
    assert SECRET not in said and str(receiver.port) not in said


def test_target_that_fails_for_hours_is_given_up(
    service: ServiceRig, receiver: Receiver, clock: ManualClock, target: Target
) -> None:
    receiver.status = 404
    rig = Rig(service, clock, target)
    service.end_sweep(service.sweep(name="good"))
    for _ in range(10):
        rig.step()
        clock.now_s += 3601
    assert _states(service) == [("failed", 8)]
    assert len(receiver.got) == 8


def test_nothing_is_sent_twice_after_a_kill(
    service: ServiceRig, receiver: Receiver, clock: ManualClock, target: Target
) -> None:
    rig = Rig(service, clock, target)
    service.end_sweep(service.sweep(name="good"))
    rig.notifier.follow()
    with service.database.write() as connection:  # a notifier that is killed while it sends
        assert notification_outbox.take_due(connection, target.name, clock.now_s) is not None
    Rig(service, clock, target).step()
    assert _states(service) == [("unknown", 1)]
    assert receiver.got == []


def test_queue_of_a_target_is_bounded(service: ServiceRig, clock: ManualClock, target: Target) -> None:
    notifier = Notifier(service.database, [Delivery(target)], URL, clock=clock, max_waiting=3)
    for number in range(5):
        service.end_sweep(service.sweep(name=f"sweep-{number}"))
    notifier.follow()
    assert _states(service) == [("dropped", 0)] * 2 + [("waiting", 0)] * 3


def test_notifications_of_a_removed_target_are_dropped(
    service: ServiceRig, clock: ManualClock, target: Target, tmp_path: Path
) -> None:
    rig = Rig(service, clock, target)
    service.end_sweep(service.sweep())
    rig.notifier.follow()
    Rig(service, clock, *read_targets(_file(tmp_path, "json://127.0.0.1:9/other", "form://127.0.0.1:9")))
    assert _states(service) == [("waiting", 0)]  # line 1 has the same schema
    Rig(service, clock, *read_targets(_file(tmp_path, "form://127.0.0.1:9")))
    assert _states(service) == [("dropped", 0)]


def test_target_that_is_not_there_fails(tmp_path: Path, receiver: Receiver) -> None:
    receiver.close()
    delivery = Delivery(read_targets(_file(tmp_path, receiver.url))[0])
    with pytest.raises(DeliveryError, match=r"^not delivered: no answer in time, or refused$"):
        delivery.send("title", "body")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["nonsense " + SECRET], "line 1: write URL, or KINDS = URL"),
        (["# only a comment"], "it names no target"),
        (["", f"finished, often = json://{SECRET}@host"], "line 2: unknown kind 'often'; known: finished"),
        ([f"json://{SECRET}@host"] * 21, "at most 20 targets, got 21"),
    ],
)
def test_wrong_files_are_refused_without_repeating_them(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(ServiceError) as refused:
        read_targets(_file(tmp_path, *lines))
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_url_that_apprise_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="Apprise knows no such service") as refused:
        Delivery(read_targets(_file(tmp_path, f"gibberish://{SECRET}@host"))[0])
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_file_that_others_may_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ServiceError, match="other users may read it; run `chmod 600"):
        read_targets(_file(tmp_path, "json://host", mode=mode))


def test_file_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file away")
    file = _file(tmp_path, "json://host")
    os.chown(file, 12345, 12345)
    with pytest.raises(ServiceError, match="belongs to another user"):
        read_targets(file)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="No such file"):
        read_targets(tmp_path / "missing")
