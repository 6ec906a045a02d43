"""A report of a node, for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from podium.sweep.protocol.node_reports import NodeReport

_REPORT = NodeReport(
    name="b",
    address="10.0.0.6",
    podium_version="0.1.0",
    python_version="3.13.5",
    ray_version="2.60.0",
    cores=16,
    gpus=2,
    memory_bytes=128 << 30,
    disk_free_bytes=500 << 30,
    cache_bytes=3 << 30,
    clock_offset_s=0.01,
    uploads_waiting=0,
    member_port=8400,
    certificate="0a" * 32,
)


def node_report(name: str = "b", **changes: Any) -> NodeReport:
    """The report of an idle node with two GPUs."""
    return replace(_REPORT, name=name, **changes)
