"""Converts parameters with dotted names to nested dictionaries, for code written for W&B or Ray Tune; trial process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat_and_nested(params: Mapping[str, Any]) -> dict[str, Any]:
    """`{"optimizer.lr": 1}` as `{"optimizer.lr": 1, "optimizer": {"lr": 1}}`, so that both lookups work.

    A nested dictionary is omitted if a parameter has its name.
    """
    tree: dict[str, Any] = {}
    for name, value in params.items():
        *parents, last = name.split(".")
        if not all((*parents, last)) or any(
            ".".join(parents[:depth]) in params for depth in range(1, len(parents) + 1)
        ):
            continue
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[last] = value
    return {**params, **{name: value for name, value in tree.items() if isinstance(value, dict)}}
