"""Reads the causes of errors of remote calls: their first line, and whether an epoch was fenced; scheduler."""

from __future__ import annotations

from podium.sweep.values.errors import FencedError


def fence_of(error: Exception) -> FencedError | None:
    """The `FencedError` that an error is, or that caused it in a remote call; None for any other error."""
    for each in (getattr(error, "cause", None), error):
        if isinstance(each, FencedError):
            return each
    return None


def first_line(error: Exception) -> str:
    """The first line of the message of an error, or of the error in a remote call that caused it."""
    lines = str(getattr(error, "cause", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
