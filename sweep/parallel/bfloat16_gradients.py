"""Gradients in bfloat16 between ranks; the user's process.

Without `from __future__ import annotations`: torch compares the annotations of a hook with its classes.
"""

import torch
from torch import nn
from torch.distributed import GradBucket, ProcessGroup  # type: ignore[attr-defined]
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

from podium.sweep.values.errors import ParallelError


def check(compression: torch.dtype | None, model: nn.Module) -> None:
    """Raise `ParallelError` unless the gradients of the model can be sent in this dtype."""
    if compression is None:
        return
    if compression is not torch.bfloat16:
        raise ParallelError(
            f"compression is {compression!r}; it must be torch.bfloat16, which has the range of float32, or None"
        )
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.dtype not in (torch.float32, torch.float64):
            raise ParallelError(
                f"compression=torch.bfloat16 needs parameters in float32; {name!r} is {parameter.dtype}. "
                "Leave compression out"
            )


def bfloat16_hook(group: ProcessGroup, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
    """`bf16_compress_hook`, which `DistributedDataParallel` refuses by name without NCCL, although gloo can."""
    return bf16_compress_hook(group, bucket)
