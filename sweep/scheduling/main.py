"""Entry point of the scheduler process: connects Ray, Optuna and the database, and runs the loop.

`python -P -m podium.sweep.scheduling.main FILE`, started by `serve`, which writes two lines to standard input: the
address as soon as Ray is ready, since imports take as long as Ray, and the epoch of the lease as soon as the service
leads; 0 if its database has only one service.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock, Timeout
from threadpoolctl import threadpool_limits

from podium.db.queries import stored_service_name
from podium.db.schema.database import Database
from podium.db.schema.open_database import open_database
from podium.db.stores import nodes, scheduler_lease
from podium.sweep.file_store.recorded_object_store_config import recorded
from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, Stop, Wake
from podium.sweep.ray_cluster import ray_slots
from podium.sweep.ray_cluster.device_source import DeviceSource
from podium.sweep.ray_cluster.existing_cluster_devices import ExistingClusterDevices
from podium.sweep.ray_cluster.node_services_actor_manager import HeadAccess
from podium.sweep.ray_cluster.own_cluster_devices import OwnClusterDevices
from podium.sweep.ray_cluster.ray_slot_relay import RelaySettings
from podium.sweep.ray_cluster.slot_actors import RelayPerNode
from podium.sweep.runtime.clock import SystemClock
from podium.sweep.runtime.component_startup_and_heartbeats import exit_with, on_wake, report_ready, start_component
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.runtime.garbage_collection import collect_rarely
from podium.sweep.runtime.loop_heartbeat import LoopHeartbeat
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.scheduling import cluster_file_transfer_token, scheduler_epoch_file
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.scheduling.file_cleanup_thread import CleanupThread
from podium.sweep.scheduling.retention_cleanup import Retention
from podium.sweep.scheduling.scheduler import Scheduler
from podium.sweep.scheduling.slot_autoscaler import SlotAutoscaler
from podium.sweep.scheduling.study_query_thread import StudyThread
from podium.sweep.search.scheduler_search_threads import SearchThreads
from podium.sweep.values.errors import PodiumError
from podium.sweep.values.excluded_ray_node import RefusedNode


def run(settings: ServiceSettings) -> None:
    """Run until SIGTERM. Raises `PodiumError` if the devices or the database cannot be used."""
    began_at = time.time()
    threadpool_limits(1, user_api="blas")  # the products of a search are small: more threads make them slower
    heartbeat = LoopHeartbeat()
    database = open_database(settings, heartbeat.on_progress)
    with database.read() as connection:
        namespace = ray_slots.namespace_of(stored_service_name.read(connection))
    ray_address = sys.stdin.readline().strip()
    if not ray_address:
        return  # `serve` has ended
    ray_slots.connect(ray_address, namespace, settings.runtime.ray if settings.existing_cluster else None)
    leader_epoch = sys.stdin.readline().strip()  # a service that stands by waits here
    if not leader_epoch:
        return
    recorder = DatabaseRecorder(
        database,
        _holder(settings),
        after_epoch=scheduler_epoch_file.read(settings.data),
        leader_epoch=int(leader_epoch),
    )
    if settings.cluster:  # otherwise all slots end with the service
        scheduler_epoch_file.record(settings.data, recorder.epoch)
    inbox: Inbox = Inbox()
    devices = _devices(settings, namespace, database, recorder)
    pool = ray_slots.RaySlots(inbox, devices, epoch=recorder.epoch, confirm=recorder.confirm)
    cleanup = CleanupThread()
    retention = Retention(database, settings.data, recorder.epoch)
    scheduler = Scheduler(
        inbox=inbox,
        pool=pool,
        searchers=SearchThreads(inbox),
        recorder=recorder,
        study=StudyThread(inbox, recorder.read_study),
        clock=SystemClock(),
        data=settings.data,
        disk_shortage=lambda: _disk_shortage(settings),
        clean_up=cleanup.clean_up_attempt,
        has_started=Path.exists,  # a slot creates the folder of an attempt before it forks
        apply_retention=lambda sweep_id: cleanup.apply_retention(sweep_id, retention.apply),
        elastic=SlotAutoscaler(pool, settings.existing_cluster.idle_release_s) if settings.existing_cluster else None,
        on_progress=heartbeat.on_progress,
    )
    signal.signal(signal.SIGTERM, lambda *_: inbox.put(Stop()))
    on_wake(settings.runtime.wake_socket("scheduler"), lambda: inbox.put(Wake()))
    collect_rarely()  # before searches exist: nothing of them is frozen
    found = pool.attach()
    recorder.forget_devices([opened.device.device_id for opened in found])
    scheduler.adopt(found)
    cleanup.clean_up_before(settings.data.trials, began_at, scheduler.folders_in_use())
    cleanup.resume_retention(retention.resume, retention.apply)
    pool.open_missing()
    announcer = threading.Thread(target=_announce, args=(scheduler, recorder, pool.count), daemon=True)
    announcer.start()
    scheduler.run(on_turn=lambda: _on_turn(heartbeat, recorder))
    pool.close()
    recorder.stop()
    database.close()


def _holder(settings: ServiceSettings) -> str:
    """This process, for people: with PostgreSQL, the machine may be another one than that of the reader."""
    return f"process {os.getpid()}{f' on {socket.gethostname()}' if settings.database_url_file else ''}"


def _devices(settings: ServiceSettings, namespace: str, database: Database, recorder: DatabaseRecorder) -> DeviceSource:
    """The devices of this service's own Ray, or those that it takes of an existing Ray cluster."""
    existing = settings.existing_cluster
    if existing is None:
        slots = RelaySettings(str(settings.data.root), settings.devices.kind == "pretend-gpu")
        return OwnClusterDevices(
            settings.devices, RelayPerNode(slots, namespace=namespace), trials_per_device=settings.trials_per_device
        )
    host = f"[{settings.cluster}]" if ":" in settings.cluster else settings.cluster
    store = recorded(settings.data) if settings.artifact_url else None
    access = HeadAccess(
        f"https://{host}:{settings.node_port}",
        cluster_file_transfer_token.ensure(database, settings.data, time.time(), recorder.epoch),
        settings.data.cluster_certificate.read_text(),
        settings.artifact_url,
        "" if store is None else store.store_id,
        recorder.epoch,
    )

    def leaving() -> frozenset[str]:
        with database.read() as connection:
            return nodes.leaving(connection)

    def show_refused(refused: Mapping[str, RefusedNode]) -> None:
        with database.write() as connection:
            scheduler_lease.check(connection, recorder.epoch)
            nodes.set_refused(connection, refused, time.time())

    return ExistingClusterDevices(
        existing, access, kind=settings.devices.kind, namespace=namespace, confirm=recorder.confirm, leaving=leaving,
        show_refused=show_refused,
    )  # fmt: skip


def _on_turn(heartbeat: LoopHeartbeat, recorder: DatabaseRecorder) -> None:
    heartbeat.on_turn()
    recorder.record_heartbeat()


def _disk_shortage(settings: ServiceSettings) -> str:
    """Why the data disk allows no new trial, or "". Contains no figures, since each change of the text is recorded."""
    found = disk_space(settings.data.root)
    return (
        ""
        if found.is_sufficient
        else f"no space left on the disk of {found.path}; trials start when space is free again"
    )


def _announce(scheduler: Scheduler, recorder: DatabaseRecorder, count: int) -> None:
    scheduler.wait_for_slots(count)
    report_ready()
    recorder.record_devices(scheduler.devices())


def main() -> None:
    """Take the lock of the data directory, which allows one scheduler, and run."""
    settings = start_component("scheduler")
    lock = FileLock(settings.data.scheduler_lock)
    try:
        with lock.acquire(timeout=5):
            run(settings)
    except Timeout:
        sys.exit(f"another scheduler uses the data directory {settings.data_dir}")
    except PodiumError as error:
        exit_with(error)


if __name__ == "__main__":
    main()
