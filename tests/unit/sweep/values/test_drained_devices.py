"""A drained GPU is found by its UUID under whatever number; another device by its name."""

from __future__ import annotations

import pytest

from podium.sweep.values.drained_devices import DeviceDrain, drains_of

A, B = "GPU-0a", "GPU-0b"


@pytest.mark.parametrize(
    ("drained", "drained_uuid", "device", "uuid", "found"),
    [
        ("gpu-0", A, "gpu-0", A, True),
        ("gpu-0", A, "gpu-1", A, True),  # its number has changed
        ("gpu-0", A, "gpu-0", B, False),  # another one has its number
        ("b:gpu-0", A, "c:gpu-2", A, True),  # it is in another machine
        ("gpu-0.1", A, "gpu-1.1", A, True),
        ("gpu-0.1", A, "gpu-1", A, False),  # another slot of it
        ("gpu-0", "", "gpu-0", A, True),  # drained before UUIDs were stored
        ("gpu-0", A, "gpu-0", None, True),
        ("cpu-0", "", "cpu-0", None, True),
        ("cpu-0", "", "cpu-1", None, False),
        ("cpu-0", "", "b:cpu-0", None, False),
    ],
)
def test_drain_is_that_of_the_device(
    drained: str, drained_uuid: str, device: str, uuid: str | None, found: bool
) -> None:
    drain = DeviceDrain(drained, drained_uuid, "broken fan")
    assert drains_of(device, uuid, [drain]) == ([drain] if found else [])
