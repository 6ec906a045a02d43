"""Answers requests as soon as they have arrived, without ASGI, whose task and messages cost as much as a prediction.

The app's `HandlerWithoutAsgi` begins to answer a request that has arrived completely, or declines it without any
effect; the app answers what it declines. Runs in the gateway.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle
from uvicorn.server import ServerState

from podium.api.http.connection_limits import BoundedProtocol
from podium.api.http.handler_interface_without_asgi import Cancel, HandlerWithoutAsgi


class ProtocolWithoutAsgi(BoundedProtocol):
    """One connection. Requests that cannot be answered directly take the usual path, as if there were no handler."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # Behind a proxy, uvicorn's middleware replaces the client's address and the scheme.
        self._handler: HandlerWithoutAsgi | None = (
            None if config.proxy_headers else getattr(config.app, "handler_without_asgi", None)
        )
        self._is_in_head = False
        self._unstarted: tuple[RequestResponseCycle, Any] | None = None  # its headers are complete
        self._cancel: Cancel | None = None  # of the request that is being answered directly

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._unstarted is not None:
            (cycle, app), self._unstarted = self._unstarted, None
            if not self._is_answered_directly(cycle, app):
                super()._start_asgi_task(cycle, app)

    def on_headers_complete(self) -> None:
        self._is_in_head = True
        try:
            super().on_headers_complete()
        finally:
            self._is_in_head = False

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        cancel, self._cancel = self._cancel, None
        if cancel is not None:
            cancel()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Not before all that was received is parsed: then the body may be complete."""
        if self._is_in_head and self._handler is not None:
            self._unstarted = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def _is_answered_directly(self, cycle: RequestResponseCycle, app: Any) -> bool:
        if (
            self._handler is None
            or app is not self.app  # uvicorn refuses the request
            or cycle.more_body
            or cycle.waiting_for_100_continue
            or self.pipeline
            or self.flow.write_paused
            or self.transport.is_closing()
        ):
            return False
        self._cancel = self._handler(
            cast(dict[str, Any], cycle.scope),
            bytes(cycle.body),
            lambda status, head, body: self._respond(cycle, status, head, body),
        )
        if cycle.response_complete:
            self._cancel = None
        elif self._cancel is None:
            return False
        cycle.body = bytearray()  # else kept until the next request of the connection
        cycle.on_response = _nothing  # it refers to the protocol, which refers to the cycle
        self.flow.resume_reading()  # paused by a large body; otherwise a disconnect would not be noticed
        return True

    def _respond(self, cycle: RequestResponseCycle, status: int, head: bytes, body: bytes) -> None:
        """Write the response at once, and continue as after a response of the app."""
        self._cancel = None
        if cycle.response_complete or cycle.disconnected or self.transport.is_closing():
            return
        try:
            self._write(cycle, status, head, body)
        except BaseException:
            self.transport.abort()
            raise
        self.on_response_complete()

    def _write(self, cycle: RequestResponseCycle, status: int, head: bytes, body: bytes) -> None:
        parts = [STATUS_LINE[status]]
        for name, value in cycle.default_headers:
            parts += (name, b": ", value, b"\r\n")
        parts += (head, b"content-length: %d\r\n" % len(body))
        if not cycle.keep_alive:
            parts.append(b"connection: close\r\n")
        parts += (b"\r\n", body)
        cycle.response_started = cycle.response_complete = True
        self.transport.write(b"".join(parts))
        if not cycle.keep_alive:
            self.transport.close()


def _nothing() -> None:
    pass
