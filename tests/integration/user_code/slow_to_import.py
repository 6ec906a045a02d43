"""Imports an installed package that takes a while: for the tests of import times."""

from __future__ import annotations

from typing import Any

import wave_of_the_code  # type: ignore[import-not-found]
from sleepy import part  # type: ignore[import-not-found]


def objective(trial: Any) -> float:
    return float(part.VALUE + wave_of_the_code.VALUE)
