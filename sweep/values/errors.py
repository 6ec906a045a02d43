"""Every error of the product that a user may see; pure, in every process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


class PodiumError(Exception):
    """Something went wrong in Podium."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip())


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document: where (keys from the top, and a line if it came from a file), and what."""

    location: tuple[str, ...]
    message: str
    line: int | None = None

    @property
    def key(self) -> str:
        """The location as people write it: `parameters.lr.min`."""
        return ".".join(self.location) or "(the whole document)"


class InvalidSpecError(PodiumError):
    """The sweep file is not valid."""

    def __init__(self, problems: list[Problem], source: str = "sweep") -> None:
        self.problems = problems
        self.source = source  # the file; "" where the keys are options of a command, or fields of a request
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
    """Send the header `Authorization: Bearer TOKEN`; the admin's token is in the data directory, admin.token."""


class ForbiddenError(PodiumError):
    """This token does not allow that."""


class TooManyFailuresError(PodiumError):
    """Too many wrong tokens or codes came from this address."""

    def __init__(self, retry_s: float) -> None:
        self.retry_s = max(1, math.ceil(retry_s))
        super().__init__(f"too many wrong tokens or codes came from this address; try again in {self.retry_s} s")


class BadRequestError(PodiumError):
    """The request cannot be understood."""


class FilterError(BadRequestError):
    """The filter cannot be read."""

    def __init__(self, message: str, position: int, length: int) -> None:
        self.position, self.length = position, length  # of the part that is wrong, in characters of the filter
        super().__init__(f"at character {position + 1}: {message}")


class TooLargeError(PodiumError):
    """The body is too large."""


class NotFoundError(PodiumError):
    """There is no such thing."""


class ConflictError(PodiumError):
    """That is not possible in this state."""


class IllegalTransitionError(ConflictError):
    """A state may not follow that state."""


class NotPossibleError(ConflictError):
    """That cannot be asked for in this state."""

    def __init__(self, message: str, possible: Sequence[str]) -> None:
        self.possible = tuple(possible)  # what can be asked for now, as commands
        super().__init__(message)

    @classmethod
    def of(cls, what: str, possible: Sequence[str]) -> NotPossibleError:
        """Says what cannot be, and what can."""
        return cls(f"{what}; possible: {', '.join(possible) or 'nothing, it is over'}", possible)


class DataError(PodiumError):
    """The data set cannot be read."""

    def __init__(self, message: str | None = None, key: str | None = None) -> None:
        """`key` is the key of `program.data` that has to change, where it is known."""
        self.key = key
        super().__init__(message)


class ChangedDataError(DataError):
    """The data set is not the one that the sweep was accepted with."""


class BundleError(PodiumError):
    """The code bundle cannot be used."""


class UserCodeError(PodiumError):
    """The user's code cannot be started."""


class NotInTrialError(UserCodeError, AttributeError):
    """A trial of Podium does not have that; unknown to `hasattr`, too."""


class StudyUnavailableError(PodiumError):
    """The service did not answer what a trial asked of its study."""


class ScriptFailedError(UserCodeError):
    """The script of a trial ended with a status other than 0."""

    def __init__(self, status: int, tail: str) -> None:
        self.tail = tail  # the end of its standard error
        last = tail.splitlines()[-1].strip() if tail else "it said nothing on standard error"
        super().__init__(f"the script ended with status {status}: {last}")


class PinningError(PodiumError):
    """The trial process does not see exactly the device of its slot."""


class BadReportError(PodiumError):
    """The trial reported something that is not a finite number."""


class NonFiniteError(BadReportError):
    """The trial reported NaN or an infinity."""


class NoDeviceError(PodiumError):
    """There is no device of the kind that was asked for."""


class DataDirectoryError(PodiumError):
    """The data directory cannot be used."""


class DatabaseError(PodiumError):
    """The database cannot be used."""


class TooSlowError(DatabaseError):
    """What was asked for takes too long to find."""


class StorageFullError(DatabaseError):
    """There is no room left on the disk of the data directory; make some, and try again."""


class DamagedError(DatabaseError):
    """The database cannot be trusted; open it again, and believe only what is read back."""


class FencedError(DatabaseError):
    """Another scheduler has taken over; this one writes nothing more."""


class ServiceError(PodiumError):
    """The service did not start, or did not answer."""


class StudyError(PodiumError):
    """The Optuna study cannot be read or written."""


class MissingExtraError(PodiumError):
    """A package that this needs is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs packages that are not installed here: pip install 'podium[{extra}]'")


class EnsembleError(PodiumError):
    """The ensemble cannot be built or asked."""
