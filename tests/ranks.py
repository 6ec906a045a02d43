"""Runs a program as several ranks, with the environment of `torchrun`, and ends every process."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from torch.distributed import TCPStore  # type: ignore[attr-defined]

from tests.rank_template import MESSAGE_BYTES
from tests.repository import ROOT

PROGRAMS = ROOT / "tests" / "integration" / "rank_programs"
TIMEOUT_S = 150.0
WITHOUT_GPUS = {"CUDA_VISIBLE_DEVICES": ""}  # the networks of the programs are on the CPU


@dataclass(frozen=True, slots=True)
class RankResult:
    """How a rank ended, and what it printed."""

    status: int
    output: str
    errors: str


class RankTemplate:
    """The process from which ranks are forked; see `tests.rank_template`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="podium-ranks-"))
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._statuses: dict[int, int] = {}
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.rank_template", str(other.fileno())],
                cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[other.fileno()],
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **WITHOUT_GPUS},
            )  # fmt: skip

    def fork(self, command: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> int:
        """Start a script with arguments; its process id."""
        request = {"command": list(map(str, command)), "environment": dict(environment), "folder": str(folder)}
        self._connection.settimeout(TIMEOUT_S)
        self._connection.send(json.dumps(request).encode())
        while "status" in (answer := self._receive()):
            pass
        pid: int = answer["pid"]
        self._statuses.pop(pid, None)  # of an earlier process with this id
        return pid

    def wait(self, pid: int, timeout_s: float) -> int:
        """The exit status of a process. Raises `TimeoutError`."""
        deadline = time.monotonic() + timeout_s
        while pid not in self._statuses:
            self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
            self._receive()
        return self._statuses[pid]

    def has_ended(self, pid: int) -> bool:
        """Whether the status of a process is known."""
        return pid in self._statuses

    def close(self) -> None:
        """End the template."""
        self._connection.close()
        self._process.wait(30)
        shutil.rmtree(self.folder)

    def _receive(self) -> dict[str, int]:
        message = self._connection.recv(MESSAGE_BYTES)
        assert message, f"the template of the ranks exited with status {self._process.wait(5)}"
        answer: dict[str, int] = json.loads(message)
        if "status" in answer:
            self._statuses[answer["pid"]] = answer["status"]
        return answer


@functools.cache
def rank_template() -> RankTemplate:
    """The template of this process, which ends with it."""
    template = RankTemplate()
    atexit.register(template.close)
    return template


class RunningRanks:
    """The running ranks of a program: their process ids."""

    def __init__(self, ranks: Mapping[int, int], folders: Mapping[int, Path]) -> None:
        self.ranks = ranks
        self._folders = folders

    def results(self, timeout_s: float = TIMEOUT_S) -> list[RankResult]:
        """Wait for all ranks, by rank. Raises `TimeoutError`."""
        deadline = time.monotonic() + timeout_s
        found = []
        for rank, pid in sorted(self.ranks.items()):
            status = rank_template().wait(pid, deadline - time.monotonic())
            output, errors = ((self._folders[rank] / name).read_text() for name in ("output", "errors"))
            found.append(RankResult(status, output, errors))
        return found


@contextlib.contextmanager
def running_ranks(
    command: Sequence[str | Path], size: int, *, missing: Sequence[int] = (), served: bool = True
) -> Iterator[RunningRanks]:
    """Start the ranks of a command, but the missing ones; ends them after the block.

    `served`: this process has the store, as `torchrun` does. Otherwise rank 0 has it, at a port that was free before.
    """
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=TIMEOUT_S))
    port = store.port if served else _free_port()
    variables = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    if served:
        variables["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    with tempfile.TemporaryDirectory(dir=rank_template().folder) as parent:
        folders = {rank: Path(parent) / str(rank) for rank in range(size) if rank not in missing}
        ranks: dict[int, int] = {}
        try:
            for rank, folder in folders.items():
                ranks[rank] = _start(command, rank, variables, folder)
            yield RunningRanks(ranks, folders)
        finally:
            for pid in ranks.values():
                if not rank_template().has_ended(pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                    rank_template().wait(pid, TIMEOUT_S)


def run_ranks(command: Sequence[str | Path], size: int, *, timeout_s: float = TIMEOUT_S) -> list[RankResult]:
    """Run the ranks of a command, of which all must succeed."""
    with running_ranks(command, size) as running:
        results = running.results(timeout_s)
    assert [each.status for each in results] == [0] * size, "\n".join(each.errors[-3000:] for each in results)
    return results


def _start(command: Sequence[str | Path], rank: int, variables: Mapping[str, str], folder: Path) -> int:
    folder.mkdir()
    return rank_template().fork(command, {"RANK": str(rank), "LOCAL_RANK": str(rank), **variables}, folder)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
