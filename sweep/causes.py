"""Which cause of the closed list an exception is; trial process and slot."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from sweep.errors import BadReportError, NonFiniteError, PinningError
from sweep.trial import Cause

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_WORDS = ("No space left on device", "Disk quota exceeded")  # what is left of it in other libraries' errors


def cause_of(error: BaseException) -> Cause:
    """The cause of a trial that ended with this exception; a full disk is judged by `disk_is_full` beforehand."""
    if isinstance(error, NonFiniteError):
        return Cause.NON_FINITE
    if isinstance(error, BadReportError):
        return Cause.BAD_REPORT
    if isinstance(error, PinningError):
        return Cause.INFRASTRUCTURE
    if isinstance(error, MemoryError):
        return Cause.HOST_MEMORY
    if type(error).__name__ == "OutOfMemoryError":
        return Cause.DEVICE_MEMORY
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
