"""The cause of an exception: by its class, the exception it wraps, or its message."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import NonFiniteError, PinningError
from podium.sweep.values.failure_cause_detection import cause_of, is_lost_connection
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState

OUT = "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"


def wrapped(error: BaseException) -> BaseException:
    outer = RuntimeError("training failed")
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ValueError("out of memory"), Cause.USER_ERROR),
        (RuntimeError("we ran out of memory of it"), Cause.USER_ERROR),
        (OSError(errno.ENOENT, "No such file"), Cause.USER_ERROR),
        (NonFiniteError("nan"), Cause.NON_FINITE),
        (PinningError("sees another device"), Cause.PINNING),
        (MemoryError(), Cause.HOST_MEMORY),
        (RuntimeError(OUT), Cause.DEVICE_MEMORY),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"), Cause.DEVICE_MEMORY),
        (OSError(errno.EIO, "Input/output error"), Cause.INFRASTRUCTURE),
        (OSError(errno.EROFS, "Read-only file system"), Cause.INFRASTRUCTURE),
    ],
)
def test_error_has_its_cause_also_when_wrapped(error: Exception, cause: Cause) -> None:
    assert cause_of(error) is cause
    if cause not in (Cause.NON_FINITE, Cause.PINNING):
        assert cause_of(wrapped(error)) is cause


@pytest.mark.parametrize(
    ("ended", "lost"),
    [
        ({"message": "RuntimeError: [gloo/pair.cc:547] Connection closed by peer [127.0.0.1]:3145"}, True),
        ({"message": "RankLostError: rank 0 lost another rank"}, True),
        ({"message": "the script ended with status 1", "traceback": "…\nDistNetworkError: failed to recv\n"}, True),
        ({"cause": Cause.SIGNAL, "exit": "SIGABRT", "log_tail": "what(): Connection reset by peer\n"}, True),
        ({"cause": Cause.SIGNAL, "exit": "SIGKILL", "log_tail": "Connection reset by peer\n"}, False),
        ({"message": "ValueError: as planned", "traceback": "Broken pipe\n" + 9 * "line\n"}, False),
        ({"cause": Cause.HOST_MEMORY, "message": "Broken pipe"}, False),
    ],
)
def test_lost_connection_to_another_rank(ended: dict[str, Any], lost: bool) -> None:
    event = Ended(AttemptKey(1, 1), TrialState.FAILED, 0.0, 0.0, **{"cause": Cause.USER_ERROR, **ended})
    assert is_lost_connection(event) is lost
