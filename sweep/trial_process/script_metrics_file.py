"""Reads the metrics file that a script appends to, in lines of bounded length; trial process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from podium.sweep.spec.metric_extraction import STEP
from podium.sweep.values.errors import BadReportError

MAX_JSON_LINE = 64 << 10  # bytes
_READ_BYTES = 1 << 20  # of the file at a time
SUMMARY = "summary"  # the key of final values
METRICS = "metrics"  # the key of further metrics, of any name: one may be called step
_NON_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)


class JsonLines:
    """Reads lines as they are appended to a metrics file: `{"step": 1, "val_loss": 0.3}`.

    `{"summary": {"val_loss": 0.2}}` has final values, whose step is None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._partial = b""
        self._number = 0
        self._next_step = 0

    def read_new(self) -> Iterator[tuple[int | None, dict[str, float]]]:
        """Step and values of each new complete line. Raises `BadReportError` for an invalid line."""
        while content := self._read():
            *lines, self._partial = (self._partial + content).split(b"\n")
            for line in lines:
                self._number += 1
                if line.strip():
                    yield from self._values_of(line)
            if len(self._partial) > MAX_JSON_LINE:
                raise self._invalid(f"is longer than {MAX_JSON_LINE:,} bytes")

    def flush(self) -> Iterator[tuple[int | None, dict[str, float]]]:
        """The last line, if it is unterminated; to be called at the end. May raise `BadReportError`."""
        line, self._partial = self._partial, b""
        if line.strip():
            self._number += 1
            yield from self._values_of(line)

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                content = file.read(_READ_BYTES)
        except FileNotFoundError:
            return b""
        self._offset += len(content)
        return content

    def _values_of(self, line: bytes) -> Iterator[tuple[int | None, dict[str, float]]]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise self._invalid(f"is not valid JSON: {line[:200]!r}") from None
        if not isinstance(entry, dict):
            raise self._invalid(f'is not an object like {{"step": 1, "val_loss": 0.3}}: {line[:200]!r}')
        summary = entry.pop(SUMMARY) if isinstance(entry.get(SUMMARY), dict) else None
        if entry or summary is None:
            step = entry.pop(STEP, self._next_step)
            if isinstance(step, bool) or not isinstance(step, int) or step < 0:
                raise self._invalid(f"has step {step!r:.60}; step must be an integer of at least 0")
            self._next_step = step + 1
            more = entry.pop(METRICS) if isinstance(entry.get(METRICS), dict) else {}
            yield step, _numbers({**entry, **more})
        if summary is not None:
            yield None, _numbers(summary)

    def _invalid(self, what: str) -> BadReportError:
        return BadReportError(f"line {max(self._number, 1)} of the file in PODIUM_METRICS {what}")


def _numbers(values: dict[str, object]) -> dict[str, float]:
    """The numbers among the values; JSON has no NaN and infinities, so some programs write them as strings."""
    found = {}
    for name, value in values.items():
        if _is_number(value) or (isinstance(value, str) and _NON_FINITE.fullmatch(value)):
            found[name] = float(value)  # type: ignore[arg-type]
    return found


def _is_number(value: object) -> bool:
    if isinstance(value, int) and value.bit_length() > 1000:
        return False  # exceeds the range of float
    return isinstance(value, int | float) and not isinstance(value, bool)
