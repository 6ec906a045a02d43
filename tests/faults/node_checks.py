"""What must hold after faults of nodes: files on the head, no processes left, and which attempts a fault has cost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime.safe_file_reads import sha256_of
from tests.faults.faulted_cluster import FaultedCluster
from tests.faults.journal import SLACK_S
from tests.faults.node_victims import ON_HEAD, ON_NODE, MachineCensus

DOCTOR = "podium.db.integrity.main"
DOCTOR_S = 180.0  # it waits for what is about to be corrected
SETTLE_S = 25.0  # for processes and files of attempts that have just ended; agents look for these every 10 s
LATE_S = 10.0  # after the recovery, in which an attempt may still be lost by the fault
_FILES = ("small.bin", "medium.bin")  # of every trial
_HASHES = """
SELECT t.sweep_id, t.number, a.number, a.nonce, x.name, x.value FROM trials t
JOIN attempts a ON a.trial_id = t.id AND a.state = 'finished'
JOIN trial_attrs x ON x.trial_id = t.id AND x.name LIKE 'sha256 %' WHERE t.state = 'finished'
"""
_FINISHED = """
SELECT t.sweep_id, t.number, a.number, a.nonce FROM trials t
JOIN attempts a ON a.trial_id = t.id AND a.state = 'finished' WHERE t.state = 'finished'
"""
_ATTEMPTS = """
SELECT trial_id, number, device_id, started_at, ended_at, state, cause FROM attempts ORDER BY trial_id, number
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault."""

    kind: str  # of `DURATIONS`
    node: str  # "" for the head
    at: float
    recovered_at: float = float("inf")  # when all devices worked again

    @property
    def took_effect(self) -> tuple[float, float]:
        """The interval in which running attempts may be lost with it."""
        return self.at, self.recovered_at + LATE_S


@dataclass(frozen=True, slots=True)
class Loss:
    """An attempt that a fault has cost."""

    fault: int  # its position
    trial_id: int
    attempt: int
    device: str
    cause: str
    again_s: float | None  # from the fault until the trial's next attempt started


def problems(cluster: FaultedCluster) -> list[str]:
    """What is wrong when no sweep runs."""
    left: list[str] = []
    end = time.monotonic() + SETTLE_S
    while (left := _left(cluster)) and time.monotonic() < end:
        time.sleep(0.2)
    return [*breaches(cluster), *_wrong_files(cluster), *left]


def breaches(cluster: FaultedCluster, *, artifacts: bool = True) -> list[str]:
    """What `podium doctor` finds; it looks for processes of the head by their ids there. Sweeps may run.

    `artifacts`: whether it reads the files of all finished trials, which takes longer with each of them.
    """
    command = [sys.executable, "-P", "-m", DOCTOR, str(cluster.rig.data.root)]
    command += [] if artifacts else ["--no-artifacts"]
    report = json.loads(cluster.rig.head.run(*command, timeout_s=DOCTOR_S, stderr=subprocess.DEVNULL))
    return [f"doctor: {each['invariant']} {each['rows']}: {each['wrong']}" for each in report["breaches"]]


def _wrong_files(cluster: FaultedCluster) -> list[str]:
    """Files of finished trials that are missing on the head, or that have another content than the trial says."""
    data = cluster.rig.data
    hashes: dict[Path, dict[str, str]] = {data.attempt(*row): {} for row in cluster.rig.rows(_FINISHED)}
    for sweep, trial, number, nonce, name, value in cluster.rig.rows(_HASHES):
        hashes[data.attempt(sweep, trial, number, nonce)][name.removeprefix("sha256 ")] = json.loads(value)
    wrong = []
    for folder, files in hashes.items():
        wrong += [f"{folder}: the hash of {name} is not recorded" for name in _FILES if name not in files]
        for name, expected in files.items():
            path = folder / "artifacts" / name
            if not path.exists():
                wrong.append(f"{path} is missing")
            elif sha256_of(path) != expected:
                wrong.append(f"{path} has another content")
        log = folder / "log"
        if not log.exists() or not _is_complete(log.read_text()):
            wrong.append(f"{log} is not complete")
    return wrong


def _is_complete(log: str) -> bool:
    """Whether it has the last line of the program, which only remarks of Podium may follow."""
    own = [line for line in log.splitlines() if not line.startswith("podium: ")]
    return own[-1:] == ["done"] and log.endswith("\n")


def _left(cluster: FaultedCluster) -> list[str]:
    """Processes and files that should not be there when no sweep runs."""
    left = []
    for machine in cluster.machines:
        census = MachineCensus(machine)
        left += [f"{machine.name}: process {pid} of a trial that has ended" for pid in census.of("trial")]
        left += [f"{machine.name}: {each.name} ({each.pid}) is defunct" for each in census.defunct()]
        if machine.name in cluster.nodes:
            counts = {kind: len(census.of(kind)) for kind in ON_NODE}
            left += [f"{machine.name} has {count} processes {kind}" for kind, count in counts.items() if count != 1]
            if (slots := len(census.of("slot"))) != cluster.node_slots:
                left.append(f"{machine.name} has {slots} slot processes, not {cluster.node_slots}")
            left += [f"{machine.name}: {path} is left" for path in cluster.files_on(machine.name)]
    return left


def losses(cluster: FaultedCluster, faults: list[Fault]) -> tuple[list[Loss], list[str]]:
    """The attempts that were lost, each with its fault, and those that no fault explains."""
    since = [fault.at - SLACK_S for fault in faults]
    by_trial: dict[int, list[tuple[int, str, float, float | None, str | None, str | None]]] = defaultdict(list)
    for trial_id, *attempt in cluster.rig.rows(_ATTEMPTS):
        by_trial[trial_id].append(tuple(attempt))
    found: list[Loss] = []
    unexplained: list[str] = []
    for trial_id, attempts in by_trial.items():
        for attempt, following in zip(attempts, [*attempts[1:], None], strict=True):
            number, device, _, ended_at, state, cause = attempt
            if state != "failed" or ended_at is None:
                continue
            position = bisect_right(since, ended_at) - 1
            loss = Loss(
                position, trial_id, number, device, str(cause),
                None if following is None or position < 0 else following[2] - faults[position].at,
            )  # fmt: skip
            found.append(loss)
            if position < 0 or not _explains(faults[position], device, ended_at):
                unexplained.append(
                    f"attempt {number} of trial {trial_id} on {device} ended with {cause}, at {ended_at}"
                )
    return found, unexplained


def _explains(fault: Fault, device: str, ended_at: float) -> bool:
    """Whether a fault may have cost an attempt on this device: those of the head cost none."""
    return fault.kind not in ON_HEAD and device.startswith(f"{fault.node}:") and ended_at <= fault.took_effect[1]
