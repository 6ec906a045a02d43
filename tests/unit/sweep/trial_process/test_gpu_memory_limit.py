"""The limit of a trial on the memory of its GPU, as PyTorch reads it from the environment."""

from __future__ import annotations

import pytest

from podium.sweep.trial_process import gpu_memory_limit


@pytest.mark.parametrize(("share", "before", "after"), [
    (0.25, {}, {"PYTORCH_CUDA_ALLOC_CONF": "per_process_memory_fraction:0.25"}),
    (1.0, {}, {}),
    (0.5, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
     {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,per_process_memory_fraction:0.5"}),
    (0.5, {"PYTORCH_ALLOC_CONF": "per_process_memory_fraction:0.9"},
     {"PYTORCH_ALLOC_CONF": "per_process_memory_fraction:0.5"}),
])  # fmt: skip
def test_share_is_an_option_of_the_allocator(share: float, before: dict[str, str], after: dict[str, str]) -> None:
    environment = dict(before)
    gpu_memory_limit.limit(share, environment)
    assert environment == after
