"""The functions that searches minimize in row 16, as parameters of a sweep file and a value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_HARTMANN_ALPHA = (1.0, 1.2, 3.0, 3.2)
_HARTMANN_A = (
    (10, 3, 17, 3.5, 1.7, 8),
    (0.05, 10, 17, 0.1, 8, 14),
    (3, 3.5, 1.7, 10, 17, 8),
    (17, 8, 0.05, 10, 0.1, 14),
)
_HARTMANN_P = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886), (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650), (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Function:
    """A function to minimize over the parameters of a sweep file."""

    parameters: Mapping[str, Any]
    value: Callable[[Mapping[str, Any]], float]
    minimum: float
    noise: float = 0.0  # standard deviation


def branin(at: Mapping[str, Any]) -> float:
    """Branin's function on [-5, 10] x [0, 15]; three minima of 0.397887."""
    x, y = at["x"], at["y"]
    valley = y - 5.1 * x**2 / (4 * math.pi**2) + 5 * x / math.pi - 6
    return float(valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def hartmann(at: Mapping[str, Any]) -> float:
    """Hartmann's function on [0, 1]^6; its minimum is -3.32237."""
    point = [at[f"x{index}"] for index in range(6)]
    return -sum(
        alpha * math.exp(-sum(a * (x - p) ** 2 for a, p, x in zip(row, center, point, strict=True)))
        for alpha, row, center in zip(_HARTMANN_ALPHA, _HARTMANN_A, _HARTMANN_P, strict=True)
    )


def rosenbrock(at: Mapping[str, Any]) -> float:
    """Rosenbrock's function on [-2, 2]^10; its minimum is 0."""
    point = [at[f"x{index}"] for index in range(10)]
    return float(sum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in itertools.pairwise(point)))


def conditional(at: Mapping[str, Any]) -> float:
    """Three branches with parameters of their own; the best branch has a minimum of 0."""
    if at["kind"] == "linear":
        return float(1.0 + abs(at["slope"] - 0.3) + (math.log10(at["rate"]) + 3) ** 2)
    if at["kind"] == "square":
        return float(0.5 + (at["center"] - 0.7) ** 2 + (math.log10(at["rate"]) + 2) ** 2)
    return float((math.log10(at["rate"]) + 4) ** 2 + (at["depth"] - 5) ** 2 / 4 + (at["width"] - 0.2) ** 2)


def bowl(at: Mapping[str, Any]) -> float:
    """A quadratic function of four parameters; its minimum is 0."""
    return float(sum((at[f"x{index}"] - 0.2 * (index + 1)) ** 2 for index in range(4)))


_UNIT = {"min": 0.0, "max": 1.0}
FUNCTIONS = {
    "branin": Function({"x": {"min": -5.0, "max": 10.0}, "y": {"min": 0.0, "max": 15.0}}, branin, 0.397887357729),
    "hartmann": Function({f"x{index}": _UNIT for index in range(6)}, hartmann, -3.322368011415),
    "rosenbrock": Function({f"x{index}": {"min": -2.0, "max": 2.0} for index in range(10)}, rosenbrock, 0.0),
    "conditional": Function(
        {
            "kind": {"values": ["linear", "square", "deep"]},
            "rate": {"min": 1e-6, "max": 1e-1, "log": True},
            "slope": {**_UNIT, "when": {"kind": "linear"}},
            "center": {**_UNIT, "when": {"kind": "square"}},
            "depth": {"min": 1, "max": 12, "when": {"kind": "deep"}},
            "width": {**_UNIT, "when": {"kind": "deep"}},
        },
        conditional,
        0.0,
    ),
    "noisy": Function({f"x{index}": _UNIT for index in range(4)}, bowl, 0.0, noise=0.05),
}
