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
from pathlib import Path
from typing import Any

from podium.db.schema.database_url import database_url
from podium.sweep.runtime.component_lifecycle import wake_component
from podium.sweep.runtime.service_settings import ServiceSettings

CHANNEL = "podium_wake"
LED = ("scheduler", "host")
POLL_S = 1.0
RETRY_S = 2.0
log = logging.getLogger("podium.wake")


class WakeForwarding:
    """Listens as leader, and notifies as standby; nothing until `lead` is called."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._turn = 0  # of `lead`: threads of an earlier one end
        self._sockets: list[socket.socket] = []

    def lead(self, *, leads: bool) -> None:
        """From now on this service leads, or stands by."""
        self.close()
        if leads:
            threading.Thread(target=self._listen, args=(self._turn,), name="listen", daemon=True).start()
            return
        for name in LED:
            path = self._settings.runtime.wake_socket(name)
            path.unlink(missing_ok=True)
            receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            receiver.bind(str(path))
            self._sockets.append(receiver)
            threading.Thread(target=self._notify, args=(receiver, name), name=f"wake-{name}", daemon=True).start()

    def close(self) -> None:
        """Forward nothing any more. The sockets are unlinked: scheduler and host bind their own."""
        self._turn += 1
        for receiver in self._sockets:
            with contextlib.suppress(OSError):
                Path(receiver.getsockname()).unlink(missing_ok=True)
                receiver.shutdown(socket.SHUT_RDWR)
            receiver.close()
        self._sockets = []

    def _connect(self) -> Any:
        import psycopg

        return psycopg.connect(database_url(Path(self._settings.database_url_file)), autocommit=True)

    def _listen(self, turn: int) -> None:
        while turn == self._turn:
            try:
                with self._connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    while turn == self._turn:
                        for notification in connection.notifies(timeout=POLL_S):
                            if notification.payload in LED and turn == self._turn:
                                wake_component(self._settings.runtime.wake_socket(notification.payload))
            except Exception as error:  # noqa: BLE001 - without it, components look at the database once a second
                log.warning("cannot listen for wake-ups, trying again: %s", error)
                threading.Event().wait(RETRY_S)

    def _notify(self, receiver: socket.socket, name: str) -> None:
        connection = None
        while True:
            try:
                if not receiver.recv(16):
                    return
                connection = connection or self._connect()
                connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, name))
            except OSError:
                return  # closed
            except Exception as error:  # noqa: BLE001 - as above
                log.warning("cannot wake the leader: %s", error)
                connection = None
