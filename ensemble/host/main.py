"""Entry point of the ensemble host: connects the database, and runs the loop; host process.

Started by `serve` as `python -P -m podium.ensemble.host.main FILE`.
"""

from __future__ import annotations

import os
import signal
import sys

from podium.db.schema.database import Database
from podium.db.schema.open_database import open_database
from podium.db.stores import nodes
from podium.db.stores.fenced_database import fenced_for_host
from podium.ensemble.building.version_building import VersionBuilder
from podium.ensemble.host.background_task_runner import BackgroundThread
from podium.ensemble.host.cluster_worker_launcher import AgentAddress, ClusterWorkerLauncher
from podium.ensemble.host.evaluator import Evaluator
from podium.ensemble.host.host_loop import HostLoop
from podium.ensemble.host.precision_decisions import PrecisionDecisions
from podium.ensemble.host.precision_measurement_runner import PrecisionMeasurementRunner
from podium.ensemble.host.queued_evaluation_runner import EvaluationQueue
from podium.ensemble.host.requested_ensemble_builder import SweepEnsembleBuilder
from podium.ensemble.host.worker_launcher import TemplateWorkerLauncher
from podium.ensemble.host.worker_launcher_interface import WorkerLauncher
from podium.sweep.runtime.certificate_pin import connecting_context
from podium.sweep.runtime.clock import SystemClock
from podium.sweep.runtime.component_startup_and_heartbeats import exit_with, on_wake, report_ready, start_component
from podium.sweep.runtime.loop_heartbeat import LoopHeartbeat
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import FencedError, PodiumError


def run(settings: ServiceSettings) -> None:
    """Run until SIGTERM; the workers keep running for the next host. Raises `PodiumError`."""
    heartbeat = LoopHeartbeat()
    opened = open_database(settings, heartbeat.on_progress)
    leader_epoch = sys.stdin.readline().strip()  # a service that stands by waits here
    if not leader_epoch:
        return  # `serve` has ended
    clock = SystemClock()
    fenced: list[FencedError] = []

    def on_fenced(error: FencedError) -> None:
        fenced.append(error)
        host.stop()

    database = fenced_for_host(
        opened, int(leader_epoch), holder=f"process {os.getpid()}", at=clock.wall_s(), on_fenced=on_fenced
    )
    launcher = _launcher(settings, database, heartbeat)
    host = HostLoop(settings, database, launcher, clock)
    measuring = PrecisionMeasurementRunner(settings, database)
    evaluation_queue = EvaluationQueue(settings, database, Evaluator(settings, measuring.measure), clock)
    sweep_ensembles = SweepEnsembleBuilder(database, VersionBuilder(settings.data), settings.data, clock)
    precisions = PrecisionDecisions(settings, database, measuring.measure, on_decided=host.wake)
    background = BackgroundThread([sweep_ensembles.step, evaluation_queue.step])
    measurements = BackgroundThread([precisions.step])  # seconds each: evaluations do not wait for them

    def wake() -> None:
        host.wake()
        background.wake()
        measurements.wake()

    signal.signal(signal.SIGTERM, lambda *_: host.stop())
    on_wake(settings.runtime.wake_socket("host"), wake)
    background.start()
    measurements.start()
    report_ready()
    host.run(on_turn=heartbeat.on_turn)
    background.stop()
    measurements.stop()
    measuring.stop()
    database.close()
    if fenced:
        raise fenced[0]


def _launcher(settings: ServiceSettings, database: Database, heartbeat: LoopHeartbeat) -> WorkerLauncher:
    local = TemplateWorkerLauncher(settings.runtime, settings.data.logs / "members.log", heartbeat.on_progress)
    if not settings.cluster:
        return local

    def agents() -> dict[str, AgentAddress]:
        with database.read() as connection:
            return {name: AgentAddress(*found) for name, found in nodes.for_members(connection).items()}

    context = connecting_context(settings.data.cluster_certificate, settings.data.cluster_key)
    return ClusterWorkerLauncher(local, agents, context)


def main() -> None:
    """Run the host; exit with the message of a `PodiumError`."""
    try:
        run(start_component("host"))
    except PodiumError as error:
        exit_with(error)


if __name__ == "__main__":
    main()
