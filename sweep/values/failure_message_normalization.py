"""Makes messages of failures comparable: numbers, paths and addresses in them become placeholders; every process."""

from __future__ import annotations

import re

# In this order: an address contains numbers, and a path may contain addresses and numbers.
_PLACEHOLDERS = (
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>)\]]+", re.IGNORECASE), "<url>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (
        re.compile(r"(?<![\w<])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.+@=%-]+)+[/\\]?|\b[\w.-]+(?:/[\w.+@=%-]+){2,}/?"),
        "<path>",
    ),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"(?<![A-Za-z_\d.])[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE), "<n>"),
)
_LOCATION = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen ")


def normalized(message: str) -> str:
    """The first line of a message with placeholders, so that messages of the same failure are equal.

    A normalized message stays as it is: text next to a placeholder is looked at again, as in `0/x`, `<n>/x`.
    """
    before, line = "", first_line(message)
    while line != before:  # each round that changes something leaves fewer characters outside of placeholders
        before = line
        for pattern, placeholder in _PLACEHOLDERS:
            line = pattern.sub(placeholder, line)
    return line


def first_line(message: str) -> str:
    return message.strip().split("\n", 1)[0].strip()


def location(traceback: str) -> str | None:
    """Where the failure happened, as `train.py:12 in objective`: the last frame outside of installed packages."""
    frames = list(_LOCATION.finditer(traceback))
    own = [frame for frame in frames if not any(part in frame["file"] for part in _LIBRARIES)]
    if not frames:
        return None
    frame = (own or frames)[-1]
    function = f" in {frame['function']}" if frame["function"] and frame["function"] != "<module>" else ""
    return f"{frame['file'].rsplit('/', 1)[-1]}:{frame['line']}{function}"
