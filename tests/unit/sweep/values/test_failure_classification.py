"""The cause of an exception: by its class, the exception it wraps, or its message."""

from __future__ import annotations

import errno

import pytest

from podium.sweep.values.errors import NonFiniteError, PinningError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.failure_classification import cause_of

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
