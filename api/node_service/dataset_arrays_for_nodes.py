"""Reads the data of a sweep on the head, once, so that nodes copy arrays and need no source files; nodes process."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from podium.api.http.service_context import ServiceContext
from podium.db.stores import sweeps
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DataError, FileStoreError, NotFoundError

MODULE = "podium.sweep.data.prepare_dataset"
WAIT_S = 10.0


class DatasetPreparation:
    """One process for each data set; requests that arrive meanwhile wait for it."""

    def __init__(self, *, wait_s: float = WAIT_S) -> None:
        """`wait_s`: seconds for which a request waits."""
        self._wait_s = wait_s
        self._running: dict[int, asyncio.Task[list[str]]] = {}  # by sweep

    async def keys_of(self, service: ServiceContext, sweep_id: int) -> list[str]:
        """The keys of the prepared arrays.

        Raises `NotFoundError`, `DataError` if the data cannot be read, and `FileStoreError` if that takes longer than a
        request waits: the node asks again.
        """
        task = self._running.get(sweep_id)
        if task is None:
            task = self._running[sweep_id] = asyncio.create_task(_prepare(service, sweep_id))
            task.add_done_callback(lambda _: self._running.pop(sweep_id, None))
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._wait_s)
        except TimeoutError:
            raise FileStoreError(f"the head is still reading the data of sweep {sweep_id}") from None


async def _prepare(service: ServiceContext, sweep_id: int) -> list[str]:
    source = await asyncio.to_thread(_data_of, service, sweep_id)
    data = service.settings.data
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", MODULE, str(data.data_cache),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    printed, complaint = await process.communicate(json.dumps(source).encode())
    if process.returncode != 0:
        lines = complaint.decode(errors="replace").strip().splitlines()
        raise DataError(lines[-1] if lines else "the process that reads the data was killed")
    return _keys(data, Path(printed.decode().strip()))


def _data_of(service: ServiceContext, sweep_id: int) -> object:
    with service.database.read() as connection:
        source = json.loads(sweeps.get(connection, sweep_id).spec_json)["program"].get("data")
    if source is None:
        raise NotFoundError(f"sweep {sweep_id} has no data set")
    return source


def _keys(data: DataDirectory, folder: Path) -> list[str]:
    return sorted(data.relative(path) for path in folder.glob("*.npy"))
