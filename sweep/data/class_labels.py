"""Encodes the labels of a target column as class indices 0, 1, 2, …; trial processes and ensemble host."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.sweep.values.errors import DataError

MAX_CLASSES = 10_000


class LabelEncoder:
    """Assigns codes to labels in the order of first occurrence, thread-safe; `in_order` sorts them at the end."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._lock = threading.Lock()

    def encode(self, values: NDArray[Any], where: str) -> NDArray[np.int64]:
        """The provisional code of each label, before `in_order`; `where` names the source in errors."""
        distinct, inverse = np.unique(values, return_inverse=True)
        labels = [_label(value, where) for value in distinct.tolist()]
        with self._lock:
            codes = [self._codes.setdefault(label, len(self._codes)) for label in labels]
            if len(self._codes) > MAX_CLASSES:
                raise DataError(
                    f"{where} has more than {MAX_CLASSES:,} classes; for regression set task: regression",
                    key="target",
                )
        return np.array(codes, dtype=np.int64)[inverse.reshape(-1)]

    def sorted_classes(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The sorted labels, integers numerically and strings alphabetically, and the class index of each code."""
        numeric = all(label.lstrip("+-").isdecimal() for label in self._codes)
        names = sorted(self._codes, key=(lambda label: (int(label), label)) if numeric else None)
        places = np.empty(len(names), dtype=np.int64)
        for place, name in enumerate(names):
            places[self._codes[name]] = place
        return tuple(names), places


def _label(value: Any, where: str) -> str:
    if isinstance(value, float):
        if not value.is_integer():
            raise DataError(
                f"{where} has {value!r}: class labels must be integers or strings; for regression set task: regression",
                key="task",
            )
        return str(int(value))
    text = str(value)
    if not text.strip():
        raise DataError(f"{where} has an empty label; remove such rows", key="target")
    return text
