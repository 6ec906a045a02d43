"""The points of a grid, in an order shuffled by the seed; pure, scheduler."""

from __future__ import annotations

import itertools
import random

from sweep.spec import SweepSpec
from sweep.trial import Params, Scalar


def grid(spec: SweepSpec) -> list[Params]:
    """Every combination once; inactive parameters make no copies.

    Optuna's own grid raises when it is exhausted and samples again after a restart; hence this one.
    """
    names = [name for name, _ in spec.ordered()]
    choices = [spec.parameters[name].choices() or [] for name in names]
    seen: set[tuple[tuple[str, Scalar], ...]] = set()
    points: list[Params] = []
    for values in itertools.product(*choices):
        point: Params = {}
        for name, value in zip(names, values, strict=True):
            if spec.parameters[name].active(point):
                point[name] = value
        key = tuple(point.items())
        if key not in seen:
            seen.add(key)
            points.append(point)
    random.Random(spec.seed).shuffle(points)  # noqa: S311 - an order, not a secret
    return points
