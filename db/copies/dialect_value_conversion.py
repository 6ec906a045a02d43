"""What a database stores otherwise than the other kind, and digests of rows; the process of `podium db copy`.

PostgreSQL has no NUL in text: the text gets the symbol for it. SQLite has no negative zero: it stores zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]
_MODULUS = 1 << 256


class TargetValues:
    """The values that a target stores for those of a source."""

    def __init__(self, *, postgres: bool) -> None:
        """`postgres`: the target is PostgreSQL's, else SQLite's."""
        self._sign = r"\x00" if postgres else "-0.0"  # in the text of each row with such a value
        self._value = _without_nul if postgres else _without_negative_zero

    def of(self, row: Row) -> Row:
        """The row as the target stores it; the row itself if it is the same."""
        return tuple(map(self._value, row)) if self._sign in repr(row) else row


@dataclass(frozen=True, slots=True)
class TableDigest:
    """The content of a table, whatever the order of its rows: equal rows give equal digests, to the last bit."""

    rows: int
    digest: int
    changed: int = 0  # rows that the target stores otherwise


def digest_of(rows: Iterable[Row], values: TargetValues | None = None) -> TableDigest:
    """The digest of rows, or of what a target with these values stores for them."""
    count = total = changed = 0
    for row in rows:
        stored = row if values is None else values.of(row)
        changed += repr(stored) != repr(row) if stored is not row else 0
        # repr tells types apart, and is exact for numbers. A sum of hashes does not depend on the order.
        total += int.from_bytes(hashlib.sha256(repr(stored).encode()).digest(), "big")
        count += 1
    return TableDigest(count, total % _MODULUS, changed)


def _without_nul(value: Any) -> Any:
    return value.replace("\0", "\N{SYMBOL FOR NULL}") if isinstance(value, str) else value


def _without_negative_zero(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and value == 0 else value
