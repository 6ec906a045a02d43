"""A process that the process template forks on request; slots and the ensemble host."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from podium.sweep.protocol.process_template_messages import (
    ForkProcess,
    ProcessExited,
    ProcessForked,
    decode_reply,
    encode_request,
)

TEMPLATE_SOCKET = "PODIUM_TEMPLATE"  # the path of the socket of requests, in the environment of all processes below Ray
_SEND_S = 10.0


class ForkedProcess:
    """The client's view of one process. `read` it whenever `connection` is readable."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.pid: int | None = None
        self.exit_code: int | None = None  # None also when the template has exited before the process
        self.orphans = 0  # processes that outlived it, and were killed
        self.is_outdated = False  # the template has imported more since, which a new process would share
        self._pidfd: int | None = None
        self._kill_when_forked = False
        self._unread = b""

    @classmethod
    def request(cls, template: Path, request: ForkProcess, descriptors: Sequence[int]) -> ForkedProcess:
        """Request a process. While the template is starting, the request waits; this call does not.

        Raises:
            OSError: There is no socket at `template`, or it does not take the request.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_SEND_S)
            connection.connect(str(template))
            line = encode_request(request)
            sent = socket.send_fds(connection, [line], list(descriptors))
            if sent < len(line):  # otherwise it raises when the process has already exited
                connection.sendall(line[sent:])
            connection.setblocking(False)
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def read(self) -> bool:
        """Read the replies that have arrived. False once the process has exited, or the template has."""
        try:
            content = self.connection.recv(4096)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not content:
            return False
        *lines, self._unread = (self._unread + content).split(b"\n")
        for line in lines:
            reply = decode_reply(line)
            if isinstance(reply, ProcessForked):
                self.identify(reply.pid)
            elif isinstance(reply, ProcessExited):
                self.exit_code, self.orphans = reply.exit_code, reply.orphans
            else:
                self.is_outdated = True
        return self.exit_code is None

    @property
    def pidfd(self) -> int | None:
        """Readable when the process has exited; None while it is not yet forked."""
        return self._pidfd

    @property
    def has_exited(self) -> bool:
        """Whether the process has exited; False while it is not yet forked."""
        if self._pidfd is None:
            return self.pid is not None
        return bool(select.select([self._pidfd], [], [], 0)[0])

    def kill(self) -> None:
        """Kill the process, at once or when it is forked."""
        self._kill_when_forked = True
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Close the connection: a process that is not detached ends. The pid stays readable."""
        self.connection.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def identify(self, pid: int) -> None:
        """The process exists; called by `read`, or with what the process itself has sent."""
        if self.pid is not None:
            return
        self.pid = pid
        with contextlib.suppress(ProcessLookupError):  # it has exited already
            self._pidfd = os.pidfd_open(pid)
        if self._kill_when_forked:
            self.kill()


def template_socket() -> Path:
    """The socket of the process template of this node. Raises `OSError` outside of a service."""
    path = os.environ.get(TEMPLATE_SOCKET)
    if path is None:
        raise OSError(f"there is no process template: {TEMPLATE_SOCKET} is not set")
    return Path(path)
