"""Tracebacks as a user wants to read them: their own code, without the frames that lead there; trial process."""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path

from podium.sweep.values.errors import PodiumError

_OURS = str(Path(__file__).parents[2]) + "/"  # the package `podium`
_IMPORTING = ("<frozen importlib", importlib.__file__)


def shown_traceback(error: BaseException) -> str:
    """The traceback from the first line of the user's code on; whole where none of it is theirs."""
    whole = traceback.TracebackException.from_exception(error)
    if isinstance(error, PodiumError) or _is_users(whole):
        for each in _chain(whole):
            _shorten(each, always=isinstance(error, PodiumError))
    return "".join(whole.format())


def _is_users(shown: traceback.TracebackException) -> bool:
    return any(not _is_ours(frame) for each in _chain(shown) for frame in each.stack or ())


def _chain(shown: traceback.TracebackException | None) -> list[traceback.TracebackException]:
    """The exception, those that it came from, and those in groups."""
    found: list[traceback.TracebackException] = []
    left = [shown]
    while left:
        one = left.pop()
        if one is not None and one not in found:
            found.append(one)
            left += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return found


def _shorten(shown: traceback.TracebackException, *, always: bool) -> None:
    """Drop the frames that led to the user's code, and those of ours that only complain."""
    frames = [frame for frame in shown.stack or () if not frame.filename.startswith(_IMPORTING)]
    while frames and _is_ours(frames[0]):
        del frames[0]
    while always and frames and _is_ours(frames[-1]):
        del frames[-1]
    if frames or always:
        shown.stack = traceback.StackSummary.from_list(frames)


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith((_OURS, *_IMPORTING))
