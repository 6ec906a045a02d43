"""The names of devices, and of the slots that share one."""

from __future__ import annotations

import pytest

from podium.sweep.values.device import device_name, is_remote, node_name, shared_id


@pytest.mark.parametrize(("node", "part", "name", "shared"), [
    ("", 0, "gpu-3", "gpu-3"),
    ("", 2, "gpu-3.2", "gpu-3"),
    ("b.example", 0, "b.example:gpu-3", "b.example:gpu-3"),
    ("b.example", 2, "b.example:gpu-3.2", "b.example:gpu-3"),
])  # fmt: skip
def test_names(node: str, part: int, name: str, shared: str) -> None:
    assert device_name("gpu", 3, node, part) == name
    assert shared_id(name) == shared
    assert (node_name(name), is_remote(name)) == (node, node != "")
