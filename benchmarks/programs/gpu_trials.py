"""The smallest trial that uses its GPU, and one that fills a part of its memory."""

from __future__ import annotations

from typing import Any

import torch

LARGE_BYTES = 4_000_000_000


def trivial(trial: Any) -> float:
    value = torch.tensor([trial.params[name] for name in "xyz"], device=trial.device)
    return float((value**2).sum())


def large(trial: Any) -> float:
    block = torch.ones(LARGE_BYTES // 4, device=trial.device)
    return float(block[:1000].sum())
