"""Entry point of the notifier: `python -P -m podium.api.notifications.main FILE`, started by the supervisor.

Only with `podium serve --notify`.
"""

from __future__ import annotations

import signal
import threading
from pathlib import Path

from podium.api.notifications.delivery import Delivery
from podium.api.notifications.notification_target_file import read_targets
from podium.api.notifications.notifier import Notifier
from podium.db.schema.open_database import open_database
from podium.sweep.runtime.component_startup_and_heartbeats import exit_with, report_ready, start_component
from podium.sweep.runtime.loop_heartbeat import LoopHeartbeat
from podium.sweep.values.errors import PodiumError


def main() -> None:
    """Notify until SIGTERM."""
    settings = start_component("notifier")
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        heartbeat = LoopHeartbeat()
        database = open_database(settings, heartbeat.on_progress)
        deliveries = [Delivery(target) for target in read_targets(Path(settings.notify))]
        notifier = Notifier(database, deliveries, settings.public_url)
        notifier.start()
        report_ready()
        notifier.run(heartbeat.on_turn, stopping.is_set)
    except PodiumError as error:
        exit_with(error)


if __name__ == "__main__":
    main()
