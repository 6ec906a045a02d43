"""Which cause of the closed list an exception is; trial process and slot."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from podium.sweep.values.errors import BadReportError, NonFiniteError, PinningError, ScriptFailedError
from podium.sweep.values.trial import Cause

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_WORDS = ("No space left on device", "Disk quota exceeded")  # what is left of it in other libraries' errors

_BROKEN_DISK = frozenset({errno.EIO, errno.EROFS})  # the second is what becomes of a disk after the first
_DEVICE_MEMORY_WORDS = (
    "CUDA error: out of memory",
    "CUDA out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
)


def cause_of(error: BaseException) -> Cause:
    """The cause of a trial that ended with this exception; a full disk is judged by `disk_is_full` beforehand.

    Where libraries wrap what happened, what they wrapped counts.
    """
    if isinstance(error, NonFiniteError):
        return Cause.NON_FINITE
    if isinstance(error, BadReportError):
        return Cause.BAD_REPORT
    if isinstance(error, PinningError):
        return Cause.PINNING
    if isinstance(error, ScriptFailedError):
        return _cause_in(error.tail)
    for one in _chain(error):
        if isinstance(one, MemoryError):
            return Cause.HOST_MEMORY
        if _is_device_memory(one):
            return Cause.DEVICE_MEMORY
        if isinstance(one, OSError) and one.errno in _BROKEN_DISK:
            return Cause.INFRASTRUCTURE
    return Cause.USER_ERROR


def disk_is_full(error: BaseException) -> bool:
    """Whether the exception, or one that it came from, says that there was no room on the disk."""
    return any(_is_full(one) for one in _chain(error))


def shown(error: BaseException) -> str:
    """The message of an exception, whose own `__str__` may fail."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is the user's code
        return "<its message cannot be shown>"


def _cause_in(tail: str) -> Cause:
    """The cause that the end of a script's standard error names: it is all that is left of its exception."""
    if "OutOfMemoryError" in tail or any(words in tail for words in _DEVICE_MEMORY_WORDS):
        return Cause.DEVICE_MEMORY
    last = tail.splitlines()[-1] if tail else ""
    return Cause.HOST_MEMORY if last.startswith("MemoryError") else Cause.USER_ERROR


def _is_device_memory(error: BaseException) -> bool:
    """torch's own class where its allocator says it; the driver and the libraries say it in words."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in shown(error)[:10_000] for words in _DEVICE_MEMORY_WORDS)


def _is_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _FULL
    return isinstance(error, Exception) and any(words in shown(error)[:10_000] for words in _FULL_WORDS)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
