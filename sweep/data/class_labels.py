"""Numbers for classes: what a target column says becomes 0, 1, 2, …; pure, trial and host processes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.sweep.values.errors import DataError

MAX_CLASSES = 10_000


class Labels:
    """Gives each label a number when it is first seen, from several threads; at the end they are put in order."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._lock = threading.Lock()

    def encode(self, values: NDArray[Any], where: str) -> NDArray[np.int64]:
        """The provisional number of each label; `in_order` has the last word. `where` names the source in the error."""
        distinct, inverse = np.unique(values, return_inverse=True)
        labels = [_label(value, where) for value in distinct.tolist()]
        with self._lock:
            codes = [self._codes.setdefault(label, len(self._codes)) for label in labels]
            if len(self._codes) > MAX_CLASSES:
                raise DataError(
                    f"{where} has more than {MAX_CLASSES:,} different values, too many for classes; for values to "
                    "predict write task: regression",
                    key="target",
                )
        return np.array(codes, dtype=np.int64)[inverse.reshape(-1)]

    def in_order(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The labels in order, whole numbers by size and texts by letter, and the place of each number so far."""
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
                f"{where} has {value!r}: classes are whole numbers or texts; for values to predict write "
                "task: regression",
                key="task",
            )
        return str(int(value))
    text = str(value)
    if not text.strip():
        raise DataError(f"{where} has an empty text, which is no class; leave such rows out", key="target")
    return text
