"""The worker process: loads its networks, and serves them on a socket of its own; forked from the process template.

In-graph, it serves with the loop over its members until a process that it forks has prepared faster plans.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.worker import forked_plan_preparation, forked_process_setup, plan_transfer
from podium.ensemble.worker.control_messages import COMPILE, Phase, WorkerAssignment, WorkerReport
from podium.ensemble.worker.forked_plan_preparation import PlanPreparation
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.inference_server import WorkerServer
from podium.ensemble.worker.network_loading import SingleNetwork, load
from podium.ensemble.worker.plan_selection import BACKGROUND_WARM_S
from podium.ensemble.worker.state_reporter import ReportServer
from podium.sweep.runtime import forked_process_logging
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
    forked_process_setup.set_up("podium-member", output, owner)
    assignment = WorkerAssignment.from_json(arguments[0])
    pattern = f"%(asctime)s %(levelname)s {assignment.name} %(name)s: %(message)s"
    forked_process_logging.log_to(forked_process_logging.handler_of(pattern))
    reports = ReportServer(
        socket.socket(fileno=listening), WorkerReport(Phase.WARMING, os.getpid()), on_unwanted=lambda: os._exit(0),
        silence_s=assignment.host_silence_s,
    )  # fmt: skip
    reports.start()
    return serve(assignment, reports.publish, wait=_wait_for_signal, prepare_later=True)


def serve(
    assignment: WorkerAssignment,
    publish: Callable[[WorkerReport], None],
    wait: Callable[[WorkerServer | None], None],
    warm_s: float | None = None,
    *,
    prepare_later: bool = False,
) -> int:
    """Load, warm and bind, then `wait`; returns the exit status of the process.

    Args:
        assignment: The networks and their endpoint.
        publish: Called with each new report.
        wait: Returns when the process should exit. Its argument is None when the networks cannot be loaded: the process
            waits until the host has read the reason.
        warm_s: Seconds to benchmark the plans of an in-graph ensemble; None: the default.
        prepare_later: Whether a forked process may prepare the plans of an in-graph ensemble while the worker serves,
            if that is possible. The calling thread must be the main thread.
    """
    report = WorkerReport(Phase.WARMING, os.getpid())
    preparation: PlanPreparation | None = None
    own_threads = threading.active_count()
    try:
        prepare_later = prepare_later and assignment.in_graph and os.environ.get(COMPILE) != "1"
        torch.set_num_threads(1 if prepare_later else assignment.threads)
        network = _load(assignment)
        if prepare_later and isinstance(network, InGraphNetwork):
            preparation = _prepare(network, assignment, own_threads)
        torch.set_num_threads(assignment.threads)
        _warm(network, assignment, warm_s, choose_plans=preparation is None)
        server = WorkerServer(
            assignment.tls or assignment.endpoint,
            assignment.epoch,
            network,
            known_row=network.known_rows(1, assignment.features),
        )
        server.start()
    except EnsembleError as error:
        _close(preparation)
        log.error("%s", error)
        publish(replace(report, phase=Phase.LOAD_FAILED, reason=str(error)))
        wait(None)
        return 0
    except Exception as error:
        _close(preparation)
        log.exception("the worker failed to start")
        publish(replace(report, phase=Phase.EXITED, reason=f"{type(error).__name__}: {error}"))
        return 1
    ready = replace(report, phase=Phase.READY, endpoint=server.endpoint)
    publish(replace(ready, plan=network.plan()))
    if preparation is not None:
        assert isinstance(network, InGraphNetwork)
        _use_plans(
            preparation,
            network,
            server=server,
            features=assignment.features,
            publish=lambda plan: publish(replace(ready, plan=plan)),
        )
    wait(server)
    _close(preparation)
    return 0


def _load(assignment: WorkerAssignment) -> SingleNetwork | InGraphNetwork:
    """Load the network. Raises `EnsembleError` naming the file that cannot be loaded."""
    return load(
        assignment.files,
        in_graph=assignment.in_graph,
        combination=Combination.from_json(assignment.combination),
        threads=assignment.threads,
    )


def _warm(
    network: SingleNetwork | InGraphNetwork, assignment: WorkerAssignment, budget_s: float | None, *, choose_plans: bool
) -> None:
    if isinstance(network, SingleNetwork):
        network.warm(assignment.features)
    elif choose_plans:
        network.warm(assignment.features, slow=os.environ.get(COMPILE) == "1", budget_s=budget_s)
    else:
        network.check(assignment.features)


def _prepare(network: InGraphNetwork, assignment: WorkerAssignment, own_threads: int) -> PlanPreparation | None:
    """Start to prepare the plans in a forked process; None if a forked process cannot compute."""
    if not (network.may_prepare_later and forked_plan_preparation.can_fork(own_threads)):
        log.info(
            "the plans are prepared before the worker is ready: it uses a GPU, or its networks have started threads"
        )
        return None

    def choose() -> bytes:
        torch.set_num_threads(assignment.threads)
        network.warm(assignment.features, budget_s=BACKGROUND_WARM_S)
        return plan_transfer.pack(network.chosen(), network.plans)

    try:
        return PlanPreparation(choose)
    except OSError as error:
        log.warning("the plans are prepared before the worker is ready: cannot fork: %s", error)
        return None


def _use_plans(
    preparation: PlanPreparation, network: InGraphNetwork, server: WorkerServer, features: int,
    publish: Callable[[Mapping[str, Any]], None],
) -> None:  # fmt: skip
    """Use the plans as soon as they are prepared, and publish them; the loop if that fails."""

    def use(content: bytes) -> None:
        def adopt() -> None:
            try:
                network.adopt(chosen, features)
            except Exception as error:  # noqa: BLE001 - whatever fails here, the worker serves with the loop
                fail(f"{type(error).__name__}: {error}")
            else:
                publish(network.plan())

        try:
            chosen = plan_transfer.unpack(content, network.plans)
        except Exception as error:  # noqa: BLE001 - as above
            fail(f"{type(error).__name__}: {error}")
        else:
            server.call_between(adopt)

    def fail(why: str) -> None:
        log.error("the ensemble is computed in a loop, since faster plans cannot be prepared: %s", why)
        network.keep_loop(why)
        publish(network.plan())

    preparation.when_ended(use, fail)


def _close(preparation: PlanPreparation | None) -> None:
    if preparation is not None:
        preparation.close()


def _wait_for_signal(_: WorkerServer | None) -> None:
    while True:
        signal.pause()
