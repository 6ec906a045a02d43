"""Limits the memory of a GPU that a trial may allocate to its share, before user code runs; trial process."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")  # the second is the older name of the first
_OPTION = "per_process_memory_fraction"


def limit(share: float, environment: MutableMapping[str, str] = os.environ) -> None:
    """Let PyTorch in this process, and in processes that it starts, allocate `share` of the memory of their GPU.

    PyTorch then raises `OutOfMemoryError` as if the GPU were smaller. The memory of the CUDA context, and of libraries
    with an allocator of their own, does not count.

    Args:
        share: From 0 to 1.
        environment: Of this process.
    """
    if share >= 1.0:
        return
    name = next((name for name in _VARIABLES if environment.get(name)), _VARIABLES[-1])
    options = [option for option in environment.get(name, "").split(",") if option and _OPTION not in option]
    environment[name] = ",".join([*options, f"{_OPTION}:{share:g}"])


def limit_here(share: float) -> None:
    """The same for the CUDA device of this process, which creates its context."""
    if share < 1.0:
        import torch  # already imported by the fork server

        torch.cuda.set_per_process_memory_fraction(share, 0)
