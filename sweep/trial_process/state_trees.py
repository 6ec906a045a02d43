"""Nested state as tensors and JSON: what a checkpoint holds, with nothing in it that runs when read; trial process."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from podium.sweep.values.errors import UserCodeError

_TENSOR, _ARRAY, _TUPLE, _PAIRS = "$tensor", "$array", "$tuple", "$pairs"


def take_apart(tree: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """The JSON value of a tree; its tensors and arrays go into `tensors`, on the CPU.

    Raises `UserCodeError` for what is neither a tensor, an array, a number, a text, None, nor a list, tuple or
    dictionary of these.
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
        return {_TUPLE: [take_apart(item, tensors) for item in tree]}
    if isinstance(tree, list):
        return [take_apart(item, tensors) for item in tree]
    if isinstance(tree, dict):
        return {_PAIRS: [[take_apart(name, tensors), take_apart(value, tensors)] for name, value in tree.items()]}
    raise UserCodeError(
        f"a checkpoint cannot keep {type(tree).__name__} {tree!r:.80}: give tensors, arrays, numbers, texts, and "
        "lists, tuples or dictionaries of them"
    )


def put_together(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """The inverse of `take_apart`."""
    if isinstance(value, list):
        return [put_together(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == _TENSOR:
        return tensors[content]
    if kind == _ARRAY:
        return tensors[content].numpy()
    if kind == _TUPLE:
        return tuple(put_together(item, tensors) for item in content)
    return {put_together(name, tensors): put_together(item, tensors) for name, item in content}


def _put(tensor: torch.Tensor, tensors: dict[str, torch.Tensor]) -> str:
    name = str(len(tensors))
    tensors[name] = tensor
    return name
