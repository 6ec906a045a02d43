"""Invariants of the nodes of a running service, by their last reports; the process of `podium doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from podium.db.integrity.rules import ALWAYS, Breach
from podium.db.stores import devices, nodes
from podium.sweep.values.device import node_name
from podium.sweep.values.device_state import DeviceState

MAX_SILENT_S = 60.0
MAX_CLOCK_OFFSET_S = 5.0


def nodes_in_use(connection: Connection, now: float) -> Iterator[Breach]:
    """Checks that nodes whose devices are in use report, and their clocks; for a database whose service runs."""
    in_use = {node_name(row.id) for row in devices.all_of(connection) if row.state is not DeviceState.LOST}
    for node in nodes.all_of(connection):
        if node.name not in in_use:
            continue
        silent_s = now - node.reported_at
        if silent_s > MAX_SILENT_S:
            wrong = f"its devices are in use, but it has not reported for {silent_s:,.0f} s"
            yield Breach("nodes", {"node": node.name}, wrong, passing=True)
        offset_s = node.report.clock_offset_s
        if abs(offset_s) > MAX_CLOCK_OFFSET_S:
            yield Breach(
                invariant="nodes",
                rows={"node": node.name, "clock_offset_s": f"{offset_s:+.1f}"},
                wrong=f"its clock is more than {MAX_CLOCK_OFFSET_S:g} s off the clock of the service; set it",
                note_when=(ALWAYS,),
            )
