"""Sends the files of attempts that have ended to the head, of one attempt after another; slot on a node."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import replace

from podium.sweep.slots import attempt_end_event
from podium.sweep.slots.attempt_files import AttemptFiles, FilesError
from podium.sweep.slots.condition_variable import Changes
from podium.sweep.slots.outcome_classification import attempt_outcome
from podium.sweep.slots.running_attempt import RunningAttempt
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended

log = logging.getLogger("podium.slot")


class FileTransfer:
    """Sends the files of the attempts of one slot, while the next attempt may run on its device.

    One attempt at a time: an attempt that ends before the files of an earlier one have been sent keeps the device until
    then. Over a slow network, attempts would otherwise accumulate, each with less bandwidth and the same time limit.
    """

    def __init__(self, files: AttemptFiles, changes: Changes, release: Callable[[RunningAttempt], None]) -> None:
        """`release`: called when an attempt leaves the device."""
        self._files = files
        self._changes = changes
        self._release = release
        self.sending: RunningAttempt | None = None

    async def send(self, running: RunningAttempt, ended: Ended) -> Ended:
        """Send the files of an attempt whose processes have ended; returns its end, which is `ended` if they arrived.

        A stop of the attempt cancels `running.transfer`. After this, call `finish`.
        """
        checkpoints = attempt_end_event.needs_checkpoint(running, ended)
        running.transfer = asyncio.get_running_loop().create_task(self._send(running, checkpoints))
        try:
            await running.transfer
        except asyncio.CancelledError:
            if running.kill is None or not running.transfer.cancelled():
                raise
            outcome = attempt_outcome(None, -signal.SIGTERM, running.kill)
            return Ended(key=ended.key, started_at=ended.started_at, ended_at=ended.ended_at, pid=ended.pid, **outcome)
        except Exception as error:  # noqa: BLE001 - an attempt without an end would never be repeated
            reason, cause = reason_and_cause(error)
            message = f"the files of the attempt could not be sent: {reason}"
            failed = attempt_end_event.failed(ended.key, ended.started_at, message)
            return replace(failed, cause=cause, ended_at=ended.ended_at, pid=ended.pid, log_tail=ended.log_tail)
        return ended

    def finish(self, running: RunningAttempt) -> None:
        """The end of an attempt has been reported: the next one may send its files."""
        if self.sending is running:
            self.sending = None
            self._changes.notify()

    async def _send(self, running: RunningAttempt, checkpoints: bool) -> None:
        await self._changes.wait_until(lambda: self.sending is None)
        self.sending = running
        self._release(running)
        await self._files.send(running.assignment, checkpoints=checkpoints)


def reason_and_cause(error: Exception) -> tuple[str, Cause]:
    """Why files were not fetched or sent; logs an error that is not one of the node or the network."""
    if isinstance(error, FilesError):
        return str(error), error.cause
    log.error("internal error while files were carried", exc_info=error)
    return f"{type(error).__name__}: {error}", Cause.INFRASTRUCTURE
