"""What `podium serve` says of the devices of this machine."""

from __future__ import annotations

import pytest

from podium.sweep.runtime import device_detection
from podium.sweep.runtime.device_detection import sharing_remark
from podium.sweep.runtime.service_settings import DevicePlan


@pytest.mark.parametrize(("mps", "how"), [(True, "at the same time"), (False, "take turns")])
def test_sharing_of_gpus_is_explained(monkeypatch: pytest.MonkeyPatch, mps: bool, how: str) -> None:
    monkeypatch.setattr(device_detection, "gpus", lambda: 2)
    monkeypatch.setattr(device_detection, "mps_is_running", lambda: mps)
    assert how in sharing_remark(DevicePlan("gpu"), 4)
    assert sharing_remark(DevicePlan("gpu"), 1) == ""
    assert sharing_remark(DevicePlan("cpu", 2), 4) == ""
