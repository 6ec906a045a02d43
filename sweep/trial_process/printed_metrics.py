"""Lines that a script prints or appends to its file of metrics, as they come, each within bounds; trial process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from podium.sweep.spec.metric_patterns import MAX_LINE, STEP
from podium.sweep.values.errors import BadReportError

MAX_JSON_LINE = 64 << 10  # bytes
_READ_BYTES = 1 << 20  # of the file at a time
SUMMARY = "summary"  # the key of final values
METRICS = "metrics"  # the key of more metrics, whatever their names: one may be called step
_NON_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_ENDS = re.compile(rb"[\r\n]+")  # a progress bar goes back to the beginning of its line
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Lines:
    """Puts lines together from pieces; of one that is longer than 4,096 bytes the beginning."""

    def __init__(self) -> None:
        self._begun = b""

    def of(self, content: bytes) -> Iterator[str]:
        """The lines that this piece completes."""
        *lines, begun = _ENDS.split(content)
        for line in lines:
            whole, self._begun = self._begun + line, b""
            if whole:
                yield _text(whole)
        self._begun = (self._begun + begun)[:MAX_LINE]

    def rest(self) -> Iterator[str]:
        """The line that nothing has ended, now that nothing more comes."""
        whole, self._begun = self._begun, b""
        if whole:
            yield _text(whole)


def _text(line: bytes) -> str:
    text = line[:MAX_LINE].decode(errors="replace")
    return _COLOURS.sub("", text) if "\x1b" in text else text


class JsonLines:
    """Reads what is appended to a file of metrics: `{"step": 1, "val_loss": 0.3}` a line.

    `{"summary": {"val_loss": 0.2}}` gives final values, which are no points of a curve: their step is None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._begun = b""
        self._number = 0
        self._next_step = 0

    def new(self) -> Iterator[tuple[int | None, dict[str, float]]]:
        """Step and values of each line that is whole now. Raises `BadReportError` for a line that is none."""
        while content := self._read():
            *lines, self._begun = (self._begun + content).split(b"\n")
            for line in lines:
                self._number += 1
                if line.strip():
                    yield from self._values_of(line)
            if len(self._begun) > MAX_JSON_LINE:
                raise self._wrong(f"is longer than {MAX_JSON_LINE} bytes")

    def rest(self) -> Iterator[tuple[int | None, dict[str, float]]]:
        """The line that nothing has ended, now that nothing more comes. May raise `BadReportError`."""
        line, self._begun = self._begun, b""
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
            said = json.loads(line)
        except (ValueError, RecursionError):
            raise self._wrong(f"is no JSON: {line[:200]!r}") from None
        if not isinstance(said, dict):
            raise self._wrong(f'is no object like {{"step": 1, "val_loss": 0.3}}: {line[:200]!r}')
        summary = said.pop(SUMMARY) if isinstance(said.get(SUMMARY), dict) else None
        if said or summary is None:
            step = said.pop(STEP, self._next_step)
            if isinstance(step, bool) or not isinstance(step, int) or step < 0:
                raise self._wrong(f"has the step {step!r:.60}; a step is a whole number from 0")
            self._next_step = step + 1
            more = said.pop(METRICS) if isinstance(said.get(METRICS), dict) else {}
            yield step, _numbers({**said, **more})
        if summary is not None:
            yield None, _numbers(summary)

    def _wrong(self, what: str) -> BadReportError:
        return BadReportError(f"line {max(self._number, 1)} of the file in PODIUM_METRICS {what}")


def _numbers(values: dict[str, object]) -> dict[str, float]:
    """The numbers among the values; JSON has no NaN and no infinities, so some programs write them as strings."""
    found = {}
    for name, value in values.items():
        if _is_number(value) or (isinstance(value, str) and _NON_FINITE.fullmatch(value)):
            found[name] = float(value)  # type: ignore[arg-type]
    return found


def _is_number(value: object) -> bool:
    if isinstance(value, int) and value.bit_length() > 1000:
        return False  # no float is so large
    return isinstance(value, int | float) and not isinstance(value, bool)
