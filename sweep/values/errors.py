"""All errors that a user may see; every process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


class PodiumError(Exception):
    """Internal error."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip())


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a document: its location (keys from the top, and a line if it is from a file), and a message."""

    location: tuple[str, ...]
    message: str
    line: int | None = None

    @property
    def key(self) -> str:
        """The location as a dotted path: `parameters.lr.min`."""
        return ".".join(self.location) or "(the whole document)"


class InvalidSpecError(PodiumError):
    """Invalid sweep file."""

    def __init__(self, problems: list[Problem], source: str = "sweep") -> None:
        self.problems = problems
        self.source = source  # the file; "" if the keys are options of a command or fields of a request
        super().__init__("\n".join(self._line(problem) for problem in problems))

    @classmethod
    def at(cls, location: Sequence[str], message: str) -> InvalidSpecError:
        """One problem at one key."""
        return cls([Problem(tuple(location), message)])

    def _line(self, problem: Problem) -> str:
        where = self.source if problem.line is None else f"{self.source}:{problem.line}"
        parts = (where, ".".join(problem.location), problem.message)
        return ": ".join(part for part in parts if part)


class ConversionError(PodiumError):
    """A search space cannot be written as a sweep file."""


class UnusableClassError(PodiumError):
    """The sampler or pruner class that a sweep file names cannot be used."""


class UnauthorizedError(PodiumError):
    """Authentication required: send `Authorization: Bearer TOKEN`; the admin token is in DATA_DIR/admin.token."""


class ForbiddenError(PodiumError):
    """The token does not have the required role."""


class TooManyFailuresError(PodiumError):
    """Too many invalid tokens or codes from this address."""

    def __init__(self, retry_s: float) -> None:
        self.retry_s = max(1, math.ceil(retry_s))
        super().__init__(f"too many invalid tokens or codes from this address; try again in {self.retry_s} s")


class BadRequestError(PodiumError):
    """Invalid request."""


class FilterError(BadRequestError):
    """Invalid filter."""

    def __init__(self, message: str, position: int, length: int) -> None:
        self.position, self.length = position, length  # of the invalid part, in characters of the filter
        super().__init__(f"at character {position + 1}: {message}")


class TooLargeError(PodiumError):
    """The request body is too large."""


class NotFoundError(PodiumError):
    """Not found."""


class ConflictError(PodiumError):
    """Not possible in the current state."""


class IllegalTransitionError(ConflictError):
    """Invalid state transition."""


class NotPossibleError(ConflictError):
    """The command is not possible in the current state."""

    def __init__(self, message: str, possible: Sequence[str]) -> None:
        self.possible = tuple(possible)  # the commands that are possible now
        super().__init__(message)

    @classmethod
    def of(cls, what: str, possible: Sequence[str]) -> NotPossibleError:
        """An error with the list of possible commands."""
        return cls(f"{what}; possible: {', '.join(possible) or 'none (terminal state)'}", possible)


class DataError(PodiumError):
    """The data set cannot be read."""

    def __init__(self, message: str | None = None, key: str | None = None) -> None:
        """`key`: the invalid key of `program.data`, if known."""
        self.key = key
        super().__init__(message)


class ChangedDataError(DataError):
    """The data set has changed since the sweep was accepted."""


class BundleError(PodiumError):
    """Invalid code bundle."""


class UserCodeError(PodiumError):
    """The user's code cannot be started."""


class NotInTrialError(UserCodeError, AttributeError):
    """The trial has no such attribute; `hasattr` is False."""


class StudyUnavailableError(PodiumError):
    """The service did not answer a trial's request for study data."""


class ScriptFailedError(UserCodeError):
    """The script of a trial exited with a nonzero status."""

    def __init__(self, status: int, tail: str) -> None:
        self.tail = tail  # the end of its standard error
        last = tail.splitlines()[-1].strip() if tail else "no output on standard error"
        super().__init__(f"the script exited with status {status}: {last}")


class PinningError(PodiumError):
    """The trial process does not see exactly the device of its slot."""


class BadReportError(PodiumError):
    """The trial reported something that is not a finite number."""


class NonFiniteError(BadReportError):
    """The trial reported NaN or an infinity."""


class NoDeviceError(PodiumError):
    """No device of the requested kind is available."""


class DataDirectoryError(PodiumError):
    """The data directory cannot be used."""


class DatabaseError(PodiumError):
    """The database cannot be used."""


class TooSlowError(DatabaseError):
    """The query exceeds the time limit."""


class StorageFullError(DatabaseError):
    """No space left on the disk of the data directory; free some and try again."""


class DamagedError(DatabaseError):
    """The state of the database is unknown after a failed write; open it again and read back what was committed."""


class WrongDatabaseError(DamagedError):
    """The database is not the one of this service."""


class FencedError(DatabaseError):
    """Another scheduler has taken over; this one must not write."""


class FileStoreError(PodiumError):
    """The file store cannot be used."""


class MissingFileError(FileStoreError):
    """The file store has no such file."""


class DamagedFileError(FileStoreError):
    """The content of a file differs from its SHA-256."""


class RefusedFileError(FileStoreError):
    """The head does not accept the file: its attempt is over."""


class ServiceError(PodiumError):
    """The service did not start, or did not answer."""


class StudyError(PodiumError):
    """The Optuna study cannot be read or written."""


class MissingExtraError(PodiumError):
    """A required package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs packages that are not installed: pip install 'podium[{extra}]'")


class EnsembleError(PodiumError):
    """The ensemble cannot be built or evaluated."""


class ParallelError(PodiumError):
    """The ranks of a parallel program cannot train together."""


class RankLostError(ParallelError):
    """A rank of a parallel program ended, or cannot be reached."""
