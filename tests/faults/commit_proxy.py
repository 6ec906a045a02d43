"""A TCP proxy in front of PostgreSQL that cuts connections between a COMMIT and its answer."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

_CHUNK = 1 << 16


class CommitProxy:
    """Listens on a free port of loopback, and forwards to the server's port."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._armed = False
        self.cuts = 0
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut_next_commit(self) -> None:
        """The server executes the next COMMIT of any connection, and its client never learns the outcome."""
        with self._lock:
            self._armed = True

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._server_port))
        except OSError:  # the server is away
            client.close()
            return
        cut = threading.Event()
        back = threading.Thread(target=self._answer, args=(server, client, cut), daemon=True)
        back.start()
        with suppress(OSError):
            while content := client.recv(_CHUNK):
                if b"COMMIT" in content and self._take():
                    cut.set()
                server.sendall(content)
        _close(server)
        back.join()
        client.close()
        server.close()

    def _answer(self, server: socket.socket, client: socket.socket, cut: threading.Event) -> None:
        with suppress(OSError):
            while content := server.recv(_CHUNK):
                if cut.is_set():
                    break
                client.sendall(content)
        _close(client)

    def _take(self) -> bool:
        with self._lock:
            taken, self._armed = self._armed, False
            self.cuts += taken
            return taken


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
