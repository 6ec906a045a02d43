"""Classifies exceptions and error output of a trial by failure cause; trial process and slot."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from podium.sweep.values.errors import BadReportError, NonFiniteError, PinningError, ScriptFailedError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_WORDS = ("No space left on device", "Disk quota exceeded")  # in errors of other libraries that lack errno

# How torch, gloo, NCCL and the store report that another rank has ended.
_LOST_CONNECTION_WORDS = (
    "Connection closed by peer",
    "Connection closed by remote peer",
    "Connection reset by peer",
    "Connection was likely closed",
    "Application timeout caused pair closure",
    "Broken pipe",
    "failed to recv, got 0 bytes",
    "RankLostError",
    "DistNetworkError",
    "ncclRemoteError",
    "NCCL communicator was aborted",
    "remote process exited or there was a network error",
)
_LAST_LINES = 5  # of a traceback, or of the output
_BROKEN_DISK = frozenset({errno.EIO, errno.EROFS})  # a disk is remounted read-only after I/O errors
_DEVICE_MEMORY_WORDS = (
    "CUDA error: out of memory",
    "CUDA out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
)


def cause_of(error: BaseException) -> Cause:
    """The failure cause of a trial that ended with this exception, or one that it wraps.

    A full disk is checked before, by `disk_is_full`.
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


def is_lost_connection(event: Ended) -> bool:
    """Whether a rank failed because another one had ended before: the cause is that of the other rank."""
    aborted = event.cause is Cause.SIGNAL and event.exit == "SIGABRT"  # a thread of torch ended the process
    if event.state is not TrialState.FAILED or not (aborted or event.cause is Cause.USER_ERROR):
        return False
    last = (event.traceback or event.log_tail).splitlines()[-_LAST_LINES:]
    return any(words in text for text in (event.message, *last) for words in _LOST_CONNECTION_WORDS)


def disk_is_full(error: BaseException) -> bool:
    """Whether the exception, or one in its chain, is due to a full disk or an exceeded disk quota."""
    return any(_is_full(one) for one in _chain(error))


def exception_text(error: BaseException) -> str:
    """The message of an exception, whose own `__str__` may fail."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is the user's code
        return "<exception str() failed>"


def _cause_in(tail: str) -> Cause:
    """The failure cause by the end of a script's standard error, since its exception is not available."""
    if "OutOfMemoryError" in tail or any(words in tail for words in _DEVICE_MEMORY_WORDS):
        return Cause.DEVICE_MEMORY
    last = tail.splitlines()[-1] if tail else ""
    return Cause.HOST_MEMORY if last.startswith("MemoryError") else Cause.USER_ERROR


def _is_device_memory(error: BaseException) -> bool:
    """By the class of torch's allocator, or by the messages of the driver and CUDA libraries."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(
        words in exception_text(error)[:10_000] for words in _DEVICE_MEMORY_WORDS
    )


def _is_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _FULL
    return isinstance(error, Exception) and any(words in exception_text(error)[:10_000] for words in _FULL_WORDS)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
