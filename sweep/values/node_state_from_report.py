"""The state of a node, computed from its last report; api and CLI."""

from __future__ import annotations

from enum import StrEnum

SILENT_AFTER_S = 15.0  # without a report


class NodeState(StrEnum):
    """The state of a node. The values are those in the REST API."""

    READY = "ready"  # its agent reports
    REFUSED = "refused"  # in an existing Ray cluster: the service does not use it
    SILENT = "silent"  # its agent has not reported recently
    LEAVING = "leaving"  # it leaves when its trials have ended
    DRAINED = "drained"  # all its devices are drained


def node_state(*, silent_s: float, leaving: bool, drained: bool, refused: bool = False) -> NodeState:
    """The state of a node that reported `silent_s` seconds ago. Refused takes precedence, then silent, then leaving."""
    if refused:
        return NodeState.REFUSED
    if silent_s > SILENT_AFTER_S:
        return NodeState.SILENT
    if leaving:
        return NodeState.LEAVING
    return NodeState.DRAINED if drained else NodeState.READY
