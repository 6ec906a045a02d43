"""Values and errors of torch: tensors as results of a function, and the causes of torch's exceptions."""

from __future__ import annotations

import pytest
import torch

from podium.sweep.values.failure_cause_detection import cause_of
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.return_value_conversion import returned_values

OUT_OF_MEMORY = "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"


def test_tensor_is_accepted_as_returned_value() -> None:
    assert returned_values(torch.tensor(0.5), ("accuracy",)) == (0.5,)


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory."), torch.AcceleratorError(OUT_OF_MEMORY)],
    ids=lambda error: type(error).__name__,
)
def test_memory_error_of_torch_has_cause_device_memory_also_when_wrapped(error: Exception) -> None:
    outer = RuntimeError("training failed")
    outer.__cause__ = error
    assert cause_of(error) is cause_of(outer) is Cause.DEVICE_MEMORY
