"""Forwards wake-ups from the services that stand by to the leader, through PostgreSQL; leadership process.

The components of a service wake each other by datagrams, which reach no other machine. While this service stands by,
its api and host write to sockets of this process, which notifies the leader by NOTIFY. A wake-up that is lost delays a
command until the next look at the database, at most a second.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from podium.sweep.runtime.component_startup_and_heartbeats import wake_component
from podium.sweep.runtime.runtime_directory import RuntimeDirectory

if TYPE_CHECKING:
    from podium.db.schema.postgres_database import PostgresDatabase

CHANNEL = "podium_wake"
FORWARDED = ("scheduler", "host")  # the components that only the leader runs
END_S = 1.0  # how long a notification that is being sent may delay the end of forwarding
log = logging.getLogger("podium.wake")


class WakeForwarding:
    """Listens as leader, and notifies as standby; nothing until `lead` or `stand_by` is called."""

    def __init__(self, runtime: RuntimeDirectory, database: PostgresDatabase) -> None:
        self._runtime = runtime
        self._database = database
        self._stop_listening: Callable[[], None] = lambda: None
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def lead(self) -> None:
        """From now on this service leads: wake its components at each notification."""
        self.close()
        self._stop_listening = self._database.listen(CHANNEL, self._wake)

    def stand_by(self) -> None:
        """From now on this service stands by: notify the leader at each wake-up."""
        self.close()
        for name in FORWARDED:
            path = self._runtime.wake_socket(name)
            path.unlink(missing_ok=True)
            receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            receiver.bind(str(path))
            self._sockets.append(receiver)
            thread = threading.Thread(target=self._notify, args=(receiver, name), name=f"wake-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """Stop forwarding. The sockets are unlinked: scheduler and host bind their own.

        A notification that is being sent ends first, since it would leave a connection open that nothing closes.
        """
        self._stop_listening()
        receivers, self._sockets = self._sockets, []
        threads, self._threads = self._threads, []
        for receiver in receivers:
            with contextlib.suppress(OSError):
                Path(receiver.getsockname()).unlink(missing_ok=True)
                receiver.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(END_S)
        for receiver in receivers:
            receiver.close()

    def _wake(self, component: str) -> None:
        if component in FORWARDED:
            wake_component(self._runtime.wake_socket(component))

    def _notify(self, receiver: socket.socket, component: str) -> None:
        while True:
            try:
                if not receiver.recv(16) or receiver not in self._sockets:
                    return
            except OSError:
                return  # closed
            try:
                self._database.notify(CHANNEL, component)
            except Exception as error:  # noqa: BLE001 - without it, components look at the database once a second
                log.warning("cannot wake the leader: %s", error)
