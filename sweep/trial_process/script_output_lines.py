"""Splits the output of a script into lines of bounded length; trial process."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podium.sweep.spec.metric_extraction import MAX_LINE

_ENDS = re.compile(rb"[\r\n]+")  # a progress bar returns to the start of its line
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class LineSplitter:
    """Assembles lines from chunks; truncates lines longer than 4,096 bytes."""

    def __init__(self) -> None:
        self._partial = b""

    def feed(self, content: bytes) -> Iterator[str]:
        """The lines that a chunk completes."""
        *lines, partial = _ENDS.split(content)
        for line in lines:
            whole, self._partial = self._partial + line, b""
            if whole:
                yield _text(whole)
        self._partial = (self._partial + partial)[:MAX_LINE]

    def flush(self) -> Iterator[str]:
        """The last line, if it is unterminated; to be called at the end."""
        whole, self._partial = self._partial, b""
        if whole:
            yield _text(whole)


def _text(line: bytes) -> str:
    text = line[:MAX_LINE].decode(errors="replace")
    return _ESCAPES.sub("", text) if "\x1b" in text else text
