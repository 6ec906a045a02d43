"""Runs measurements of precisions in processes that the process template forks, one at a time; host process."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable

from podium.db.schema.database import Database
from podium.db.stores import devices
from podium.ensemble.worker.precision_measurement_messages import MeasurementRequest, MeasurementResult
from podium.sweep.process_template.template_forked_process import ForkedProcess
from podium.sweep.protocol.process_template_messages import ForkProcess
from podium.sweep.runtime.serve_environment_for_trials import user_environment
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.device import is_remote
from podium.sweep.values.errors import EnsembleError

ENTRY = "podium.ensemble.worker.precision_measurement_process"
TIMEOUT_S = 180.0
_POLL_S = 0.5
log = logging.getLogger("podium.precision")

Measure = Callable[[MeasurementRequest], MeasurementResult]


class PrecisionMeasurementRunner:
    """Measures on the first GPU of this machine, or else on its CPU cores. Thread-safe.

    Args:
        settings: The service.
        database: Has the devices.
        timeout_s: A process is killed if it needs longer.
    """

    def __init__(self, settings: ServiceSettings, database: Database, *, timeout_s: float = TIMEOUT_S) -> None:
        self._settings = settings
        self._database = database
        self._timeout_s = timeout_s
        self._one = threading.Lock()  # two at a time would measure each other
        self._stopping = False

    def stop(self) -> None:
        """End the measurement that is running."""
        self._stopping = True

    def measure(self, request: MeasurementRequest) -> MeasurementResult:
        """Run a process. Raises `EnsembleError` if it cannot be started, or ends without a result."""
        with self._one:
            try:
                return self._run(request)
            except OSError as error:
                raise EnsembleError(f"cannot start the process that measures precisions: {error}") from error

    def _run(self, request: MeasurementRequest) -> MeasurementResult:
        environment = {
            **user_environment(),
            "CUDA_VISIBLE_DEVICES": self._visible(),
            "OMP_NUM_THREADS": str(request.threads),
        }
        fork = ForkProcess(ENTRY, (request.to_json(),), environment)
        receiver, sender = socket.socketpair()
        with receiver:
            with sender, (self._settings.data.logs / "members.log").open("ab") as output:
                descriptors = [sender.fileno(), output.fileno()]
                process = ForkedProcess.request(self._settings.runtime.template_socket, fork, descriptors)
            try:
                return MeasurementResult.from_line(self._receive(receiver))
            finally:
                process.close()  # it ends if it has not

    def _receive(self, receiver: socket.socket) -> bytes:
        """The line that the process sends. Raises `EnsembleError`."""
        end_s = time.monotonic() + self._timeout_s
        receiver.settimeout(_POLL_S)
        found = b""
        while not found.endswith(b"\n"):
            if self._stopping or time.monotonic() > end_s:
                raise EnsembleError(f"the process that measures precisions gave no result within {self._timeout_s:g} s")
            try:
                content = receiver.recv(1 << 16)
            except TimeoutError:
                continue
            if not content:
                raise EnsembleError("the process that measures precisions ended without a result")
            found += content
        return found

    def _visible(self) -> str:
        with self._database.read() as connection:
            found = [device for device in devices.all_of(connection) if not is_remote(device.id)]
        return next((device.visible for device in found if device.kind == "gpu"), "")
