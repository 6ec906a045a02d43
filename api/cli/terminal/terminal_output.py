"""Terminal output: tables, numbers, states and untrusted text; CLI."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_COLUMNS = 200  # width of output to a file or pipe: folded lines are hard to search
_COLORS = {
    "finished": "green", "ready": "green", "active": "green", "running": "cyan", "busy": "cyan", "building": "cyan",
    "warming": "cyan", "pruned": "yellow", "degraded": "yellow", "suspect": "yellow", "restarting": "yellow",
    "paused": "yellow", "stopping": "yellow", "leaving": "yellow", "silent": "yellow",
    "drained": "yellow", "failed": "red", "lost": "red", "below_quorum": "red", "open": "red", "cancelled": "magenta",
}  # fmt: skip
_NUMBER = re.compile(r"[-+–]?[\d.,]*(e[-+]\d+)?( %)?")
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


def printable(text: str) -> str:
    """Untrusted text on one line without control characters: names, reasons, exception messages."""
    return text.replace("\n", " ").translate(_CONTROLS)


class _Console(Console):
    """A console that escapes control characters and markup in all text."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape control characters except line ends; every printed string passes through here."""
        return super().render_str("\n".join(map(printable, text.split("\n"))), **options)


console = _Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else PIPED_COLUMNS)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def number(value: float | None) -> str:
    """Four significant digits; a dash for none."""
    return "–" if value is None else f"{value:.4g}"


def state(text: str) -> Text:
    """A state in its color."""
    return Text(text, style=_COLORS.get(text, ""))


def params(values: dict[str, Any]) -> str:
    """Parameters in one cell."""
    shown = (f"{name}={number(v) if isinstance(v, float) else v}" for name, v in values.items())
    return ", ".join(shown)


def table(title: str | None, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Table:
    """A table with right-aligned numeric columns."""
    result = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    cells = [[cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in row] for row in rows]
    for index, column in enumerate(columns):
        right = all(_NUMBER.fullmatch(row[index].plain) for row in cells)
        result.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in cells:
        result.add_row(*row)
    return result


def full_table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Table:
    """A table without empty columns."""
    names, cells = list(columns), [list(row) for row in rows]
    kept = [i for i in range(len(names)) if not cells or any(str(row[i]) not in ("", "–") for row in cells)]
    return table(None, [names[i] for i in kept], [[row[i] for i in kept] for row in cells])
