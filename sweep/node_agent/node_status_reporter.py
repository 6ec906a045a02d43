"""Reports the state of a node to the head every few seconds, and measures the offset of its clock; node agent."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.node_agent.attempt_leftovers_report import Left
from podium.sweep.protocol.node_reports import NodeReport
from podium.sweep.runtime.joined_node_settings import LEAVE, REFUSED, NodeSettings
from podium.sweep.runtime.package_versions import versions
from podium.sweep.runtime.service_settings import available_cores
from podium.sweep.values.errors import PodiumError, UnauthorizedError

REPORT_S = 5.0
CACHE_S = 60.0  # between two measurements of what is cached
log = logging.getLogger("podium.node_agent")


class NodeStatusReporter:
    """Reports the node to its head."""

    def __init__(
        self,
        store: HeadFileStore,
        settings: NodeSettings,
        waiting: Callable[[], int],
        left: Callable[[], Left],
        members: tuple[int, str] = (0, ""),
        *,
        report_s: float = REPORT_S,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Reports of a node.

        Args:
            store: Sends them.
            settings: Of this node.
            waiting: The number of attempts that run, or whose end is not recorded.
            left: What ended attempts have left on this node.
            members: The port for members, and the fingerprint of its certificate; 0 and "" without.
            report_s: Seconds between two reports.
            clock: Of this node.
        """
        self._store = store
        self._settings = settings
        self._waiting = waiting
        self._left = left
        self._members = members
        self._report_s = report_s
        self._clock = clock
        self._sleep = sleep
        self._measured_bytes = 0
        self._measure_at_s = 0.0
        self.clock_offset_s: float | None = (
            None  # time of the head minus time of this node; None before the first report
        )

    def follow(self) -> int:
        """Report until this node must leave; returns `LEAVE`, or `REFUSED` if the token was revoked or has expired."""
        while True:
            try:
                if self.report():
                    return LEAVE
            except UnauthorizedError as error:
                log.error("%s", error)
                return REFUSED
            except PodiumError as error:
                log.warning("cannot report to the head: %s", error)
            self._sleep(self._report_s)

    def report(self) -> bool:
        """Send one report; returns whether this node shall leave. Raises `FileStoreError`."""
        before = self._clock()
        answer = self._store.ask("POST", "reports", json=self._state().to_dict(), patience_s=0.0)
        after = self._clock()
        self.clock_offset_s = ((answer["received_at"] - before) + (answer["sent_at"] - after)) / 2
        return bool(answer["leave"])

    def _state(self) -> NodeReport:
        found = versions()
        data = Path(self._settings.data_dir)
        left = self._left()
        return NodeReport(
            name=self._settings.name,
            address=self._settings.address,
            podium_version=found.get("podium", ""),
            python_version=found["python"],
            ray_version=found.get("ray", ""),
            cores=available_cores(),
            gpus=self._settings.gpus or 0,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            disk_free_bytes=shutil.disk_usage(data).free,
            cache_bytes=self._cache_bytes(),
            clock_offset_s=-(self.clock_offset_s or 0.0),
            uploads_waiting=self._waiting(),
            member_port=self._members[0],
            certificate=self._members[1],
            left_folders=left.folders,
            left_processes=left.processes,
        )

    def _cache_bytes(self) -> int:
        """Measured once a minute: a code bundle may have thousands of files."""
        if time.monotonic() >= self._measure_at_s:
            self._measure_at_s = time.monotonic() + CACHE_S
            self._measured_bytes = _size(self._settings.data.data_cache) + _size(self._settings.data.bundles)
        return self._measured_bytes


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(parent, name).lstat().st_size
            except FileNotFoundError:
                continue
    return total
