"""Suggests the mapping to write where a sweep file has a scalar or a list in place of one; CLI and api process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LONGEST = 60
_SHARES = 4
_NUMBER_KEYS = {
    ("budget",): "wall_s",
    ("budget", "plateau"): "trials",
    ("ensemble",): "k",
    ("limits",): "trial_s",
    ("retries",): "user",
    ("validation",): "folds",
    ("resources",): "max_concurrent",
    ("keep",): "models",
    ("method", "interval"): "step",
}
_WORD_KEYS = {
    ("early_terminate",): "type",
    ("early_terminate", "wrap"): "type",
    ("ensemble",): "select",
    ("resources",): "device",
    ("keep",): "checkpoints",
}


def suggest_mapping(location: Sequence[str], given: Any) -> str | None:
    """The mapping that the value probably stands for, as YAML; None if there is no obvious one."""
    where = tuple(location)
    if where == ("parameters",):
        return "{lr: {min: 1e-4, max: 0.1, log: true}}"
    if where == ("metric",) or (where[:1] == ("metrics",) and len(where) == 2):
        return f"{{name: {given if isinstance(given, str) else 'val_loss'}, goal: maximize}} (or goal: minimize)"
    if where == ("program", "data") and isinstance(given, str):
        return f"{{{'file' if '.' in given or '/' in given else 'name'}: {given}}}"
    if where == ("program", "metrics"):
        name = given if isinstance(given, str) else "accuracy"
        return f"{{{name}: auto}}"
    if where == ("validation",) and isinstance(given, list):
        return f"{{split: {_yaml(given) if len(given) == _SHARES else '[0.7, 0.1, 0.1, 0.1]'}}}"
    key = _key(where, given)
    text = _yaml(given)
    return f"{{{key}: {text}}}" if key is not None and given is not None and len(text) <= _LONGEST else None


def _key(where: tuple[str, ...], given: Any) -> str | None:
    if where[:1] == ("parameters",) and len(where) == 2:
        return "values" if isinstance(given, list) else "value"
    if isinstance(given, list | bool):
        return None
    return (_WORD_KEYS if isinstance(given, str) else _NUMBER_KEYS).get(where)


def _yaml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)
