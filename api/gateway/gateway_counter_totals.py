"""Adds up the figures of all gateway processes, whichever of them is asked; gateway.

Each process tells the others its figures on a Unix socket. It saves its counters before it tells them, and every
second, so that a sum never decreases: the counters of a process that died are those that it saved, until its successor
continues them. At most the last second before the death is missing, and nothing that was ever shown. With one gateway,
nothing is told or saved, and the counters start again with the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.ensemble.serving import gateway_metrics
from podium.ensemble.serving.aggregator_counts import AggregatorCounts
from podium.ensemble.serving.gateway_metrics import NO_FIGURES, GatewayCounters
from podium.sweep.runtime.service_settings import ServiceSettings

TELL_TIMEOUT_S = 0.25  # of another gateway
SAVE_S = 1.0
log = logging.getLogger("podium.gateway")


@dataclass(frozen=True, slots=True)
class GatewayShare:
    """The figures of one gateway process; `answered`: now, and not those that it saved last."""

    name: str
    pid: int | None
    answered: bool
    figures: GatewayCounters


class GatewayCounterTotals:
    """The figures of the gateway process `name` and of the others."""

    def __init__(
        self, settings: ServiceSettings, name: str, own: Callable[[], GatewayCounters],
        *, timeout_s: float = TELL_TIMEOUT_S, save_s: float = SAVE_S,
    ) -> None:  # fmt: skip
        self._runtime = settings.runtime
        self._name = name
        self._others = [other for other in settings.gateway_names if other != name]
        self._own = own
        self._timeout_s = timeout_s
        self._save_s = save_s
        self._saved = b""
        self._failure = ""  # why the counters could not be saved
        self._in_order = asyncio.Lock()  # a copy must not be saved after a later one
        self._server: asyncio.Server | None = None
        self._saving: asyncio.Task[None] | None = None

    def adopt(self, counts: AggregatorCounts) -> None:
        """Continue the counters of a predecessor that died. Before the first request."""
        if self._others:
            gateway_metrics.adopt(counts, _read_saved(self._runtime.saved_figures(self._name)))

    async def start(self) -> None:
        """Tell the others, and save, from now on."""
        if self._others:
            path = self._runtime.figures_socket(self._name)
            path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._tell, path)
            self._saving = asyncio.create_task(self._save_regularly())

    async def stop(self) -> None:
        if self._server is not None and self._saving is not None:
            self._server.close()
            self._saving.cancel()

    async def shares(self) -> list[GatewayShare]:
        """The figures of every gateway process, this one first."""
        own = GatewayShare(self._name, os.getpid(), True, await self._saved_own())
        return [own, *await asyncio.gather(*map(self._ask, self._others))]

    async def _saved_own(self) -> GatewayCounters:
        """The figures of this process, whose counters have been saved."""
        if not self._others:
            return self._own()
        async with self._in_order:
            figures = self._own()
            await asyncio.to_thread(self._save, figures)
            return figures

    def _save(self, figures: GatewayCounters) -> None:
        content = gateway_metrics.to_json(figures.counters())
        if content == self._saved:
            return
        path = self._runtime.saved_figures(self._name)
        temporary = path.with_name(f".{path.name}")
        try:
            temporary.write_bytes(content)
            temporary.replace(path)  # without a sync: the file must survive this process, not the machine
            self._saved, self._failure = content, ""
        except OSError as error:
            if self._failure != (reason := error.strerror or str(error)):
                log.warning("cannot save the counters of %s: %s; retrying", self._name, reason)
            self._failure = reason

    async def _save_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._save_s)
            await self._saved_own()

    async def _tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            content = gateway_metrics.to_json(await self._saved_own())
            writer.write(b"%d\n" % os.getpid() + content)
            await writer.drain()
        writer.close()

    async def _ask(self, name: str) -> GatewayShare:
        try:
            async with asyncio.timeout(self._timeout_s):
                reader, writer = await asyncio.open_unix_connection(self._runtime.figures_socket(name))
                try:
                    pid, _, content = (await reader.read()).partition(b"\n")
                finally:
                    writer.close()
            return GatewayShare(name, int(pid), True, gateway_metrics.from_json(content))
        except (OSError, TimeoutError, ValueError):
            saved = await asyncio.to_thread(_read_saved, self._runtime.saved_figures(name))
            return GatewayShare(name, None, False, saved)


def _read_saved(path: Path) -> GatewayCounters:
    """The figures in this file; none if there is no such file."""
    try:
        return gateway_metrics.from_json(path.read_bytes())
    except FileNotFoundError:
        return NO_FIGURES


def summed(shares: Sequence[GatewayShare]) -> GatewayCounters:
    """The figures of all these gateway processes together."""
    return gateway_metrics.merged([share.figures for share in shares])
