"""The state of a node."""

from __future__ import annotations

import pytest

from podium.sweep.values.node_state_from_report import SILENT_AFTER_S, NodeState, node_state


@pytest.mark.parametrize(
    ("silent_s", "leaving", "drained", "state"),
    [
        (0.0, False, False, NodeState.READY),
        (SILENT_AFTER_S, False, False, NodeState.READY),
        (SILENT_AFTER_S + 0.1, False, False, NodeState.SILENT),
        (SILENT_AFTER_S + 0.1, True, True, NodeState.SILENT),
        (1.0, True, True, NodeState.LEAVING),
        (1.0, False, True, NodeState.DRAINED),
    ],
)
def test_state_of_a_node(silent_s: float, leaving: bool, drained: bool, state: NodeState) -> None:
    assert node_state(silent_s=silent_s, leaving=leaving, drained=drained) is state


def test_refused_node_is_refused_whatever_it_does() -> None:
    assert node_state(silent_s=90.0, leaving=True, drained=True, refused=True) is NodeState.REFUSED
