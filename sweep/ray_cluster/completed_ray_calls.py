"""Finds the remote calls that have a result, without waiting; scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ray


def answered(items: Any, reference_of: Callable[[Any], Any]) -> Iterator[Any]:
    """Those of `items` whose reference has a result."""
    waiting = {reference_of(item): item for item in items}
    if waiting:
        ready, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=0)
        yield from [waiting[reference] for reference in ready]
