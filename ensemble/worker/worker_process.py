"""The worker process: loads its networks, and serves them on a socket of its own; forked from the process template."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Precision
from podium.ensemble.worker.control_messages import COMPILE, Phase, WorkerAssignment, WorkerReport
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.network_loading import SingleNetwork, load
from podium.ensemble.worker.report_server import ReportServer
from podium.ensemble.worker.worker_server import WorkerServer
from podium.sweep.runtime.process_title import name_process
from podium.sweep.values.errors import EnsembleError

log = logging.getLogger("podium.worker")


def run_forked(arguments: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    """Load, warm, bind, and serve until the process is killed.

    Args:
        arguments: A `WorkerAssignment` as JSON.
        descriptors: The listening socket of reports, and the log.
        owner: At end-of-file when Ray's guardian has exited; then this process exits, too.
    """
    listening, output = descriptors
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    name_process("podium-member")
    threading.Thread(target=_exit_with, args=(owner,), name="owner", daemon=True).start()
    assignment = WorkerAssignment.from_json(arguments[0])
    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s %(levelname)s {assignment.name} %(name)s: %(message)s", force=True
    )
    reports = ReportServer(
        socket.socket(fileno=listening), WorkerReport(Phase.WARMING, os.getpid()), on_unwanted=lambda: os._exit(0)
    )
    reports.start()
    return serve(assignment, reports.publish, wait=_wait_for_signal)


def serve(
    assignment: WorkerAssignment,
    publish: Callable[[WorkerReport], None],
    wait: Callable[[WorkerServer | None], None],
    warm_s: float | None = None,
) -> int:
    """Load, warm and bind, then `wait`; returns the exit status of the process.

    Args:
        assignment: The networks and their endpoint.
        publish: Called with each new report.
        wait: Returns when the process should exit. Its argument is None when the networks cannot be loaded: the process
            waits until the host has read the reason.
        warm_s: Seconds to benchmark the plans of an in-graph ensemble; None: the default.
    """
    report = WorkerReport(Phase.WARMING, os.getpid())
    try:
        torch.set_num_threads(assignment.threads)
        network = _load(assignment, warm_s)
        server = WorkerServer(
            assignment.endpoint, assignment.epoch, network, known_row=network.known_rows(1, assignment.features)
        )
        server.start()
    except EnsembleError as error:
        log.error("%s", error)
        publish(replace(report, phase=Phase.LOAD_FAILED, reason=str(error)))
        wait(None)
        return 0
    except Exception as error:
        log.exception("the worker failed to start")
        publish(replace(report, phase=Phase.EXITED, reason=f"{type(error).__name__}: {error}"))
        return 1
    publish(replace(report, phase=Phase.READY, plan=network.plan()))
    wait(server)
    return 0


def _load(assignment: WorkerAssignment, warm_s: float | None) -> SingleNetwork | InGraphNetwork:
    """Load and warm the network. Raises `EnsembleError` naming the file that cannot be loaded."""
    network = load(
        assignment.files,
        in_graph=assignment.in_graph,
        combination=Combination.from_json(assignment.combination),
        precision=Precision(assignment.precision),
    )
    if isinstance(network, InGraphNetwork):
        network.warm(assignment.features, slow=os.environ.get(COMPILE) == "1", budget_s=warm_s)
    else:
        network.warm(assignment.features)
    return network


def _wait_for_signal(_: WorkerServer | None) -> None:
    while True:
        signal.pause()


def _exit_with(owner: int) -> None:
    os.read(owner, 1)
    os._exit(0)
