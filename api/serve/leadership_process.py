"""Entry point of the leadership process: renews the lease of this service, or takes it; only with PostgreSQL.

`python -P -m podium.api.serve.leadership_process FILE`, started by the supervisor, which starts scheduler and host when
it gets the epoch of the lease, and ends them when another service leads. It forwards wake-ups between services: what
a client has written through the api of a standby wakes the leader.
"""

from __future__ import annotations

import logging
import signal
import socket
import threading
from contextlib import suppress
from dataclasses import replace

from podium.api.serve.concurrent_service_rules import another_leads, refuse
from podium.api.serve.standby_wake_forwarding import WakeForwarding
from podium.db.schema.open_database import open_postgres
from podium.db.stores.leader_election import Leadership, LeaderState
from podium.db.stores.leader_lease import RENEWAL_S, Contender
from podium.sweep.ray_cluster.ray_cluster_id import cluster_id
from podium.sweep.runtime.component_startup_and_heartbeats import (
    HEARTBEAT_S,
    exit_with,
    report_leadership,
    report_ready,
    start_component,
)
from podium.sweep.runtime.loop_heartbeat import LoopHeartbeat
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError, PodiumError

WATCH_S = 1.0  # between two looks at the lease of another service
log = logging.getLogger("podium.leadership")


def run(settings: ServiceSettings) -> None:
    """Compete for the lease until SIGTERM, then release the lease. Raises `PodiumError` if this service may not run."""
    heartbeat = LoopHeartbeat()
    database = open_postgres(settings, heartbeat.on_progress)
    contender = Contender(settings.holder, socket.gethostname(), settings.url, cluster_id(settings))
    leadership = Leadership(database, contender, end_sessions=database.end_sessions)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    forwarding = WakeForwarding(settings.runtime, database)
    reported: int | None = None
    earlier: LeaderState | None = None
    while not stopping.is_set():
        heartbeat.on_turn()
        contender = replace(contender, ray=cluster_id(settings) or contender.ray)  # it may have been started again
        leadership.use_ray(contender.ray)
        try:
            state = leadership.try_acquire_or_renew()
        except DatabaseError as error:
            log.error("cannot renew or read the lease, trying again: %s", error)
        else:
            other_leads, earlier = another_leads(state, earlier), state
            if reported is None and other_leads and state.lease:
                refuse(settings, contender, state.lease.leader)
            if state.epoch != reported and (state.epoch or other_leads or reported):
                (forwarding.lead if state.epoch else forwarding.stand_by)()
                report_leadership(state.epoch)
                report_ready()
                reported = state.epoch
        _wait(stopping, RENEWAL_S if reported else WATCH_S, heartbeat)
    forwarding.close()
    with suppress(DatabaseError):
        leadership.release()
    database.close()


def _wait(stopping: threading.Event, seconds: float, heartbeat: LoopHeartbeat) -> None:
    """Wait, and send heartbeats."""
    while seconds > 0 and not stopping.wait(min(HEARTBEAT_S, seconds)):
        heartbeat.on_turn()
        seconds -= HEARTBEAT_S


def main() -> None:
    """Run; exit with the message of a `PodiumError`."""
    try:
        run(start_component("leadership"))
    except PodiumError as error:
        exit_with(error)


if __name__ == "__main__":
    main()
