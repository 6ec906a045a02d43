"""The rehearsal of attempts in the process template: they run to their end, and leave nothing behind."""

from __future__ import annotations

import builtins
import errno
import gc
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

from podium.sweep.protocol.trial_messages import FinalUsage, TrialMessage
from podium.sweep.trial_process import attempt_rehearsal
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.values.attempt_outcomes import ReportedOutcome
from podium.sweep.values.slot_events import Started
from podium.sweep.values.states import TrialState


def _state() -> tuple[Any, ...]:
    """The state of this process that user code could see."""
    gc.collect()  # of earlier tests, whose descriptors it closes
    return (
        list(sys.meta_path),
        list(sys.path),
        set(sys.modules),
        dict(os.environ),
        Path.cwd(),
        builtins.__import__,
        sorted(file.name for file in Path("/proc/self/fd").iterdir()),
        random.getstate(),
        torch.random.get_rng_state().tolist(),
        torch.get_num_threads(),
        tempfile.tempdir,
    )


def test_rehearsed_attempts_finish_and_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[TrialMessage] = []
    send = Channel.send

    def record(channel: Channel, message: TrialMessage) -> None:
        sent.append(message)
        send(channel, message)

    attempt_rehearsal.rehearse()  # what it imports, the template has imported
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = _state()
    with monkeypatch.context() as patch:
        patch.setattr(Channel, "send", record)
        attempt_rehearsal.rehearse()
    assert _state() == before
    rehearsals = sum(isinstance(message, Started) for message in sent)
    assert rehearsals > 8
    assert sum(isinstance(message, FinalUsage) for message in sent) == rehearsals
    outcomes = [message for message in sent if isinstance(message, ReportedOutcome)]
    assert [each.state for each in outcomes] == [TrialState.FINISHED] * rehearsals
    assert len({each.values for each in outcomes}) == 1, "each is seeded"


def test_full_disk_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _state()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(Path, "write_text", full)
        attempt_rehearsal.rehearse()
    assert _state() == before
