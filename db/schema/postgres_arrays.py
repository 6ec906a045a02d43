"""The values of a column as one array for PostgreSQL; scheduler and api.

The driver takes several times as long for a list. Numbers are sent in the binary format of the protocol (`array_recv`
of the server): printing 17 digits took a third of the time that a batch of points needs in this process.
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import types

_DIMENSIONS, _NO_NULLS, _LOWER_BOUND = 1, 0, 1
_BIGINT, _DOUBLE_PRECISION = 20, 701  # in pg_type
_BYTES = 8  # of an element
_HEAD, _INTEGER, _FLOAT = struct.Struct(">iiIii"), struct.Struct(">iq"), struct.Struct(">id")


class IntegerArray(bytes):
    """An array of bigint in binary."""


class FloatArray(bytes):
    """An array of double precision in binary."""


def array(values: Sequence[Any], type_: types.TypeEngine[Any]) -> str | bytes:
    """An array of a column's values, for a statement that casts it to an array of this type. NaN is NULL, as in SQLite.

    The server refuses what does not fit, such as an integer of more than 64 bits.
    """
    if isinstance(type_, types.String):
        return _text("NULL" if value is None else _quoted(value) for value in values)
    try:
        if isinstance(type_, types.BigInteger):
            return IntegerArray(_binary(_INTEGER, _BIGINT, values))
        if isinstance(type_, types.Float) and not any(value != value for value in values):
            return FloatArray(_binary(_FLOAT, _DOUBLE_PRECISION, values))
    except struct.error:
        pass  # a value is None, or does not fit
    number = float if isinstance(type_, types.Float) else str
    return _text("NULL" if value is None or value != value else str(number(value)) for value in values)


def _binary(element: struct.Struct, oid: int, values: Sequence[Any]) -> bytes:
    """The header, and each value after the number of its bytes."""
    head = _HEAD.pack(_DIMENSIONS, _NO_NULLS, oid, len(values), _LOWER_BOUND)
    return head + b"".join(map(element.pack, itertools.repeat(_BYTES), values))


def _text(written: Iterable[str]) -> str:
    return "{" + ",".join(written) + "}"


@functools.lru_cache(maxsize=1024)
def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
