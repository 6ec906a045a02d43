"""Invariants of the nodes of a running service, by their last reports; the process of `podium doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from podium.db.integrity.file_and_process_checks import open_attempts
from podium.db.integrity.invariant import ALWAYS, Breach
from podium.db.stores import devices, nodes
from podium.sweep.protocol.node_reports import split_process
from podium.sweep.runtime.layout import DataDirectory
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


def left_on_nodes(connection: Connection, data: DataDirectory, now: float) -> Iterator[Breach]:
    """Folders and processes that ended attempts have left on nodes; for a database whose service runs.

    What a node had that no longer reports is not known.
    """
    reporting = [node for node in nodes.all_of(connection) if now - node.reported_at <= MAX_SILENT_S]
    if not any(node.report.left_folders or node.report.left_processes for node in reporting):
        return
    running = {f"{data.relative(data.trials)}/{key}" for key in open_attempts(connection, data)}
    for node in reporting:
        for folder in node.report.left_folders:
            if folder not in running:
                wrong = "the attempt has ended, but its folder exists on the node"
                yield Breach("stray", {"node": node.name, "path": folder}, wrong, passing=True)
        for pid, folder in map(split_process, node.report.left_processes):
            if folder not in running:
                wrong = "a process on the node of an attempt that has ended"
                yield Breach("stray", {"node": node.name, "pid": pid, "path": folder}, wrong, passing=True)
