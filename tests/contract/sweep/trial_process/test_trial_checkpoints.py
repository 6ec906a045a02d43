"""Checkpoints: bit-identical after loading; the previous one survives damage, and kills: `tests/faults`."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process import trial_checkpoints
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.errors import UserCodeError


def _training(seed: int = 0) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def _step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss = model(torch.rand(8, 3)).square().mean() + float(np.random.random()) * random.random()
    torch.autograd.backward(loss)
    optimizer.step()
    return float(loss.detach())


def test_resumed_training_gives_the_same_results(tmp_path: Path) -> None:
    model, optimizer = _training()
    _step(model, optimizer)
    trial_checkpoints.save(tmp_path / "checkpoint", model, optimizer, 1)
    expected = [_step(model, optimizer) for _ in range(3)]
    model, optimizer = _training(seed=9)
    trial_checkpoints.load(tmp_path / "checkpoint").load_into(model, optimizer)
    assert [_step(model, optimizer) for _ in range(3)] == expected


def test_extra_is_restored(tmp_path: Path) -> None:
    model, _ = _training()
    extra: dict[Any, Any] = {
        "best": 0.1 + 0.2, 3: [None, True, "text"], "pair": (1, float("inf")),
        "tensor": torch.arange(4).to(torch.bfloat16),
        "array": np.eye(2, dtype=np.float32), "scalar": torch.tensor(2.5), "empty": {},
    }  # fmt: skip
    trial_checkpoints.save(tmp_path / "checkpoint", model, None, 7, extra)
    found = trial_checkpoints.load(tmp_path / "checkpoint")
    assert found.epoch == 7 and list(found.extra) == list(extra)
    for name in ("best", 3, "pair", "empty"):
        assert found.extra[name] == extra[name]
    for name in ("tensor", "scalar"):
        assert torch.equal(found.extra[name], extra[name]) and found.extra[name].dtype == extra[name].dtype
    assert np.array_equal(found.extra["array"], extra["array"])


def test_tied_weights_are_kept(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    trial_checkpoints.save(tmp_path / "checkpoint", model, None, 0)
    trial_checkpoints.load(tmp_path / "checkpoint").load_into(model)


def test_unsupported_type_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserCodeError, match="a checkpoint cannot contain object"):
        trial_checkpoints.save(tmp_path / "checkpoint", torch.nn.Linear(1, 1), None, 0, {"bad": object()})
    assert not list(tmp_path.iterdir())


def _attempts(root: Path, count: int) -> list[AttemptDirectory]:
    """The folders of the first attempts of one trial; the checkpoint of attempt N is of epoch N."""
    folders = [AttemptDirectory(root / str(number)) for number in range(1, count + 1)]
    for number, folder in enumerate(folders, start=1):
        folder.prepare()
        trial_checkpoints.save(folder.checkpoint, torch.nn.Linear(2, 1), None, number)
    return folders


def _epoch(directory: AttemptDirectory, attempt: int) -> int | None:
    found = trial_checkpoints.newest(directory, attempt)
    return None if found is None else found.epoch


def test_newest_checkpoint_of_earlier_attempts_is_found(tmp_path: Path) -> None:
    folders = _attempts(tmp_path, 12)
    assert _epoch(folders[0], 1) is None
    assert _epoch(folders[11], 12) == 11
    folders[10].checkpoint.unlink()
    assert _epoch(folders[11], 12) == 10


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "garbage"])
def test_damaged_checkpoint_is_skipped_and_logged(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = _attempts(tmp_path, 3)
    file = folders[1].checkpoint
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    damaged = {"cut": bytes(content[:-9]), "flipped": bytes(content), "emptied": b"", "garbage": b"no" * 500}
    file.write_bytes(damaged[damage])
    assert _epoch(folders[2], 3) == 1
    assert "skipping the checkpoint of attempt 2" in capsys.readouterr().err


def test_checkpoint_of_another_trial_of_this_number_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (AttemptDirectory(tmp_path / str(number)) for number in (1, 2))
    first.prepare()
    trial_checkpoints.save(first.checkpoint, torch.nn.Linear(2, 1), None, 3, owner="of a database that was put aside")
    assert trial_checkpoints.newest(second, 2, "mine") is None
    assert "another trial" in capsys.readouterr().err
    trial_checkpoints.save(first.checkpoint, torch.nn.Linear(2, 1), None, 3, owner="mine")
    found = trial_checkpoints.newest(second, 2, "mine")
    assert found is not None and found.epoch == 3


class _Clock:
    """A clock that the test advances."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_periodic_checkpoints_take_two_percent_of_the_time() -> None:
    clock, saved = _Clock(), 0
    interval = trial_checkpoints.CheckpointInterval(clock)

    def save() -> None:
        nonlocal saved
        saved += 1
        clock.now += 0.5

    for _ in range(1000):
        clock.now += 1.0  # an epoch
        interval.save_if_due(save)
    assert saved * 0.5 <= 0.02 * (clock.now - 100.0) + 0.5
    assert saved >= 30


def test_long_epochs_are_each_followed_by_a_checkpoint() -> None:
    clock, epochs = _Clock(), []
    interval = trial_checkpoints.CheckpointInterval(clock)
    for epoch in range(5):
        clock.now += 60.0
        interval.save_if_due(lambda epoch=epoch: epochs.append(epoch))  # type: ignore[misc]
    assert epochs == [0, 1, 2, 3, 4]


def test_attempt_that_continues_has_the_reports_before_the_checkpoint(tmp_path: Path) -> None:
    """The documented pair of methods: `trial.save_checkpoint` and `trial.resume`."""

    def trial(attempt: int) -> Trial:
        assignment = Assignment(
            sweep_id=1, trial_id=1, number=0, attempt=attempt, params={}, seed=0, metric="loss", program={}, split={},
            directory=str(tmp_path / str(attempt)), data_cache=str(tmp_path), objective="min",
        )  # fmt: skip
        made = Trial(assignment, Channel(ours), torch.device("cpu"))
        made.directory.prepare()
        return made

    ours, theirs = socket.socketpair()
    with ours, theirs:
        first = trial(1)
        for epoch, loss in enumerate((0.25, 0.5)):
            first.report(loss, epoch)
            first.set_constraint("size", 3.0)
            first.save_checkpoint(_training()[0], None, epoch, extra={"a": 1})
        second = trial(2)
        found = second.resume()
        assert found is not None and (found.epoch, found.extra) == (1, {"a": 1})
        assert second.early_finish.values == (0.25,)
        assert second.constraints == {"size": 3.0}


def test_checkpoint_of_an_earlier_version_has_no_progress(tmp_path: Path) -> None:
    trial_checkpoints.save(tmp_path / "checkpoint", _training()[0], None, 3)
    assert trial_checkpoints.load(tmp_path / "checkpoint").progress is None
    assert trial_checkpoints.Checkpoint(3, None, {"owner": "me"}).progress is None
