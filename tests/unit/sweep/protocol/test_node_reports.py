"""The report of a node survives its way to the head, and a wrong one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.sweep.protocol.node_reports import NodeReport
from tests.node_reports import node_report


def test_report_returns_from_json_unchanged() -> None:
    report = node_report("b", clock_offset_s=-0.25)
    assert NodeReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_member_of_a_newer_agent_is_ignored() -> None:
    assert NodeReport.from_dict({**node_report().to_dict(), "power_w": 300}) == node_report()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", ""),
        ("name", "b:c"),
        ("name", "../b"),
        ("name", "b" * 64),
        ("address", 10),
        ("address", "1" * 201),
        ("cores", -1),
        ("cores", True),
        ("gpus", None),
        ("memory_bytes", 2**63),
        ("disk_free_bytes", 1.5),
        ("clock_offset_s", float("nan")),
        ("clock_offset_s", "1"),
    ],
)
def test_wrong_member_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}: .* is not valid in the report of a node"):
        NodeReport.from_dict({**node_report().to_dict(), name: value})
