"""Sweep specs for tests: a small valid one, changed by keyword."""

from __future__ import annotations

from typing import Any

from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec


def document(**changes: Any) -> dict[str, Any]:
    """A valid sweep file over one parameter; `changes` replace its top-level keys, None removes one."""
    plain: dict[str, Any] = {
        "name": "small",
        "method": "random",
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 4,
        "program": {"function": "train:objective"},
    }
    return {key: value for key, value in {**plain, **changes}.items() if value is not None}


def builtin_document(**changes: Any) -> dict[str, Any]:
    """A valid sweep file with the built-in program."""
    builtin: dict[str, Any] = {
        "metric": {"name": "val_accuracy", "goal": "maximize"},
        "parameters": {"lr": {"min": 1e-4, "max": 0.1, "log": True}},
        "program": {"model": "mlp", "data": {"name": "digits"}},
    }
    return document(**{**builtin, **changes})


def spec(**changes: Any) -> SweepSpec:
    """`document`, checked."""
    return parse_spec(document(**changes))
