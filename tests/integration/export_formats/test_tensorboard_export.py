"""`podium sweep export --format tensorboard`, with tensorboardX, which imports torch if it is installed."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from tensorboardX.proto.event_pb2 import Event

from podium.api.client.client import Client
from podium.sweep.values.failure_causes import Cause
from tests.commands import Podium
from tests.service_rig import ServiceRig


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with a sweep of two finished trials and a failed one."""

    def client(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", client)
    parameters = {"lr": {"min": 0.0, "max": 1.0}, "学习": {"values": ["a", None]}}
    sweep_id = service.sweep(name="étude: 1", parameters=parameters, program={"function": "train:objective"})
    for number, value in enumerate((0.5, 0.75)):
        trial_id = service.trial(sweep_id, number, value, params={"lr": 0.25, "学习": "a"})
        service.points(trial_id, "val_accuracy", 0.25, value)
        service.points(trial_id, "val loss!", 9.0)
    service.trial(sweep_id, 2, None, params={"lr": 0.5, "学习": None}, cause=Cause.TIMEOUT)
    service.end_sweep(sweep_id)
    return service


def events_of(folder: Path) -> list[Any]:
    """The events in the file of a run; a record is a length, a checksum, an event and a checksum."""
    (file,) = folder.iterdir()
    content, found, at = file.read_bytes(), [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        found.append(Event.FromString(content[at + 12 : at + 12 + length]))
        at += 16 + length
    return found


def test_tensorboard_export_has_a_run_for_each_trial(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    code, out, _ = podium("sweep", "export", 1, "--to", folder, "--format", "tensorboard")
    assert (code, out.splitlines()[1]) == (0, f"view them with: tensorboard --logdir {folder}")
    assert sorted(path.name for path in folder.iterdir()) == ["trial-00000", "trial-00001", "trial-00002"]
    points = {
        (value.tag, event.step): value.simple_value
        for event in events_of(folder / "trial-00001")
        for value in event.summary.value
        if value.HasField("simple_value")
    }
    assert points == {
        ("val_accuracy", 0): 0.25, ("val_accuracy", 1): 0.75, ("val_loss_", 0): 9.0,
        ("objective/val_accuracy", 1): 0.75,
    }  # fmt: skip
    tags = [value.tag for event in events_of(folder / "trial-00002") for value in event.summary.value]
    assert "_hparams_/session_start_info" in tags
    code, _, err = podium("sweep", "export", 1, "--to", folder, "--format", "tensorboard")
    assert (code, f"{folder} exists and is not empty; give a new folder" in err) == (2, True)
