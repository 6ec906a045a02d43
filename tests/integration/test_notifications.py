"""Notifications of a real service to a receiver on loopback: once per event, also when the notifier is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http_receiver import SECRET, Receiver
from tests.running_service import RunningService, podium, wait_for
from tests.specs import builtin_document


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver()
    yield started
    started.close()


@pytest.fixture
def notification_target_file(receiver: Receiver, tmp_path: Path) -> Path:
    file = tmp_path / "targets"
    file.write_text(f"finished, failed = {receiver.url}\n")
    file.chmod(0o600)
    return file


def test_test_notification_reaches_the_target(receiver: Receiver, notification_target_file: Path) -> None:
    sent = podium("notify", "test", str(notification_target_file))
    assert (sent.returncode, sent.stdout) == (0, "line 1 (json): sent; it gets: failed, finished\n"), sent.stderr
    assert receiver.titles == ["Podium: test"]
    receiver.status = 500
    refused = podium("notify", "test", str(notification_target_file))
    assert (refused.returncode, refused.stdout) == (1, "line 1 (json): not delivered: HTTP status 500\n")
    notification_target_file.chmod(0o644)
    readable = podium("notify", "test", str(notification_target_file))
    assert readable.returncode == 4 and "chmod 600" in readable.stderr
    started = podium(
        "serve", "--data-dir", str(notification_target_file.parent / "data"), "--notify", str(notification_target_file)
    )
    assert started.returncode == 2 and "other users may read it" in started.stderr


@pytest.mark.slow
def test_service_notifies_once_although_the_notifier_is_killed(
    receiver: Receiver, notification_target_file: Path, tmp_path: Path
) -> None:
    with RunningService(tmp_path / "data", "cpu:1", options=("--notify", str(notification_target_file))) as service:

        def finish(name: str) -> None:
            sweep = service.client.submit(builtin_document(name=name, run_cap=1))
            assert service.client.wait(sweep["id"], 120)["state"] == "finished"

        finish("first")
        wait_for("the target is notified", lambda: receiver.titles == ["Podium: sweep first finished"], 30)
        service.kill("notifier")
        finish("second")
        titles = ["Podium: sweep first finished", "Podium: sweep second finished"]
        wait_for("both targets are notified", lambda: receiver.titles == titles, 30)
        log = (tmp_path / "data" / "logs" / "notifier.log").read_text()
    assert receiver.titles == titles
    assert SECRET not in log and str(receiver.port) not in log
