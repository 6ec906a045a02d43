"""Starts the process template and restarts it when it has exited; the guardian, or a slot without a guardian."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from podium.sweep.protocol.process_template_messages import UNFORKABLE, WITHOUT_REST
from podium.sweep.runtime.thread_count_variables import thread_count_variables

TEMPLATE = "podium.sweep.process_template.template_process"
EARLY_S = 10.0
MAX_EARLY_DEATHS = 10
_BACKLOG = 1024


class TemplateProcess:
    """Owns the sockets of a process template, so that requests wait while there is none.

    Args:
        requests: The path of the socket of requests.
        workers: The path of the socket of Ray workers; None if Ray starts its workers itself.
        environment: Of the template; the request of each process contains that of the process.
        module: The program.
    """

    def __init__(
        self, requests: Path, workers: Path | None, environment: Mapping[str, str], module: str = TEMPLATE
    ) -> None:
        self._sockets = [_listen(path) for path in (requests, workers) if path is not None]
        self._owner_read, self._owner_write = os.pipe()
        self._environment = {
            **environment,
            # A single thread while packages are imported: fork() copies only the calling thread.
            **thread_count_variables(1),
            # Read when torch is imported. Trials and members share cores: a thread that spins while another one has no
            # core turns 40 us into 80 ms.
            "OMP_WAIT_POLICY": "PASSIVE",
            "CUDA_VISIBLE_DEVICES": "",
        }
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._started_s = 0.0
        self._early_deaths = 0  # consecutive

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def has_failed(self) -> bool:
        """Whether it cannot run: it has exited with an error of its own, or is always killed soon after its start.

        Not if it has exited since it can no longer be forked: the next one serves.
        """
        status = None if self._process is None else self._process.poll()
        return self._early_deaths >= MAX_EARLY_DEATHS or ((status or 0) > 0 and status != UNFORKABLE)

    def start_if_exited(self) -> bool:
        """Start the process unless it is alive; whether it was started."""
        if self._process is not None:
            if (status := self._process.poll()) is None:
                return False
            if status == UNFORKABLE:
                self._environment[WITHOUT_REST] = "1"
            is_early = time.monotonic() - self._started_s < EARLY_S
            self._early_deaths = self._early_deaths + 1 if is_early else 0
        self._started_s = time.monotonic()
        requests, *workers = (each.fileno() for each in self._sockets)
        descriptors = [requests, self._owner_read, *workers]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, *map(str, descriptors)],
            stdin=subprocess.DEVNULL,
            pass_fds=descriptors,
            env=self._environment,
            start_new_session=True,
        )
        return True

    def close(self) -> None:
        """End the process and all that it has forked."""
        os.close(self._owner_write)
        os.close(self._owner_read)
        for each in self._sockets:
            each.close()
        if self._process is not None:
            self._process.wait()


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen(_BACKLOG)
    return listening
