"""Runs a program as several ranks, with the environment of `torchrun`, and ends every process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from torch.distributed import TCPStore  # type: ignore[attr-defined]

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


class RunningRanks:
    """The running ranks of a program."""

    def __init__(self, ranks: Mapping[int, subprocess.Popen[str]]) -> None:
        self.ranks = ranks

    def results(self, timeout_s: float = TIMEOUT_S) -> list[RankResult]:
        """Wait for all ranks, by rank; fails after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        found = []
        for rank in sorted(self.ranks):
            process = self.ranks[rank]
            output, errors = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
            found.append(RankResult(process.returncode, output, errors))
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
    ranks = {rank: _start(command, rank, variables) for rank in range(size) if rank not in missing}
    try:
        yield RunningRanks(ranks)
    finally:
        for process in ranks.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def run_ranks(command: Sequence[str | Path], size: int, *, timeout_s: float = TIMEOUT_S) -> list[RankResult]:
    """Run the ranks of a command, of which all must succeed."""
    with running_ranks(command, size) as running:
        results = running.results(timeout_s)
    assert [each.status for each in results] == [0] * size, "\n".join(each.errors[-3000:] for each in results)
    return results


def _start(command: Sequence[str | Path], rank: int, variables: Mapping[str, str]) -> subprocess.Popen[str]:
    own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **WITHOUT_GPUS}
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        env={**os.environ, **variables, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
