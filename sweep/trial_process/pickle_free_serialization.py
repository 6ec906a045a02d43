"""Converts nested state to tensors and JSON, so that a checkpoint needs no unpickling; trial process."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from podium.sweep.values.errors import UserCodeError

_TENSOR, _ARRAY, _TUPLE, _PAIRS = "$tensor", "$array", "$tuple", "$pairs"


def to_plain(tree: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """The JSON value of a tree; its tensors and arrays go into `tensors`, on the CPU.

    Raises `UserCodeError` for any other type than tensors, arrays, numbers, strings, None, and lists, tuples and dicts
    of these.
    """
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, torch.Tensor):
        return {_TENSOR: _put(tree.detach().cpu().clone(memory_format=torch.contiguous_format), tensors)}
    if isinstance(tree, np.generic):
        return tree.item()
    if isinstance(tree, np.ndarray):
        return {_ARRAY: _put(torch.from_numpy(np.ascontiguousarray(tree)).clone(), tensors)}
    if isinstance(tree, tuple):
        return {_TUPLE: [to_plain(item, tensors) for item in tree]}
    if isinstance(tree, list):
        return [to_plain(item, tensors) for item in tree]
    if isinstance(tree, dict):
        return {_PAIRS: [[to_plain(name, tensors), to_plain(value, tensors)] for name, value in tree.items()]}
    raise UserCodeError(
        f"a checkpoint cannot contain {type(tree).__name__} {tree!r:.80}; supported are tensors, arrays, numbers, "
        "strings, None, and lists, tuples and dicts of them"
    )


def from_plain(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """The inverse of `to_plain`."""
    if isinstance(value, list):
        return [from_plain(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == _TENSOR:
        return tensors[content]
    if kind == _ARRAY:
        return tensors[content].numpy()
    if kind == _TUPLE:
        return tuple(from_plain(item, tensors) for item in content)
    return {from_plain(name, tensors): from_plain(item, tensors) for name, item in content}


def _put(tensor: torch.Tensor, tensors: dict[str, torch.Tensor]) -> str:
    name = str(len(tensors))
    tensors[name] = tensor
    return name
