"""The report of a node survives its way to the head, and a wrong one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.sweep.protocol.node_reports import MAX_LEFT, NodeReport, process_in, split_process
from tests.node_reports import node_report

FOLDER = "trials/7/12/1-0a1b2c3d"


def test_report_returns_from_json_unchanged() -> None:
    left = (FOLDER,), (process_in(4321, FOLDER),)
    report = node_report("b", clock_offset_s=-0.25, left_folders=left[0], left_processes=left[1])
    assert NodeReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_agent_without_newer_members_is_understood() -> None:
    sent = node_report().to_dict()
    del sent["left_folders"], sent["left_processes"]
    assert NodeReport.from_dict(sent) == node_report()


def test_process_is_told_with_its_attempt() -> None:
    assert split_process(process_in(4321, FOLDER)) == (4321, FOLDER)


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
        ("left_folders", FOLDER),
        ("left_folders", [1]),
        ("left_folders", ["/etc"]),
        ("left_folders", ["trials/../x"]),
        ("left_folders", [FOLDER] * (MAX_LEFT + 1)),
        ("left_processes", [FOLDER]),
        ("left_processes", [f"x {FOLDER}"]),
    ],
)
def test_wrong_member_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}: .* in the report of a node"):
        NodeReport.from_dict({**node_report().to_dict(), name: value})
