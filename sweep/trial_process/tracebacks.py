"""Formats tracebacks without the frames of Podium around the user's code; trial process."""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path

from podium.sweep.values.errors import PodiumError

_OURS = str(Path(__file__).parents[2]) + "/"  # the package `podium`
_IMPORTING = ("<frozen importlib", importlib.__file__)


def format_traceback(error: BaseException) -> str:
    """The traceback from the first frame of the user's code; the full one if it has none."""
    whole = traceback.TracebackException.from_exception(error)
    if isinstance(error, PodiumError) or _is_users(whole):
        for each in _chain(whole):
            _shorten(each, always=isinstance(error, PodiumError))
    return "".join(whole.format())


def _is_users(shown: traceback.TracebackException) -> bool:
    return any(not _is_ours(frame) for each in _chain(shown) for frame in each.stack or ())


def _chain(shown: traceback.TracebackException | None) -> list[traceback.TracebackException]:
    """The exception, its causes and contexts, and the members of groups."""
    found: list[traceback.TracebackException] = []
    left = [shown]
    while left:
        one = left.pop()
        if one is not None and one not in found:
            found.append(one)
            left += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return found


def _shorten(shown: traceback.TracebackException, *, always: bool) -> None:
    """Remove the frames before the user's code, and those of Podium that raise the error."""
    frames = [frame for frame in shown.stack or () if not frame.filename.startswith(_IMPORTING)]
    while frames and _is_ours(frames[0]):
        del frames[0]
    while always and frames and _is_ours(frames[-1]):
        del frames[-1]
    if frames or always:
        shown.stack = traceback.StackSummary.from_list(frames)


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith((_OURS, *_IMPORTING))
