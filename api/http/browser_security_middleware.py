"""Checks host and origin of every request and adds security headers to every response; api and gateway.

The outermost middleware: it also covers unknown paths and errors. It reads the raw headers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.api.http.allowed_host_names import HostNames
from podium.api.http.handler_interface_without_asgi import HandlerWithoutAsgi
from podium.api.http.host_and_origin_check import refusal
from podium.api.http.routes_without_middleware import RoutesWithoutMiddleware
from podium.api.http.security_headers import guarded_headers


class GuardedApp(FastAPI):
    """An app behind `RequestGuard`. The attributes must be set before the first request.

    `routes_without_middleware` are those of its routes that are answered without middleware and router,
    `handler_without_asgi` answers requests of `ProtocolWithoutAsgi` without ASGI.
    """

    allowed_host_names: HostNames
    routes_without_middleware: Sequence[Route] = ()
    handler_without_asgi: HandlerWithoutAsgi | None = None
    _guard: RequestGuard | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        if self._guard is None:
            self._guard = RequestGuard(
                RoutesWithoutMiddleware(super().__call__, self.routes_without_middleware), self.allowed_host_names
            )
        await self._guard(scope, receive, send)


class RequestGuard:
    """Rejects requests with an unknown host or from another origin."""

    def __init__(self, app: ASGIApp, allowed_host_names: HostNames) -> None:
        self._app = app
        self._host_names = allowed_host_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        def send_guarded(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = guarded_headers(scope, message.get("headers", ()))
            return send(message)

        answer = refusal(scope, self._host_names) or self._app
        await answer(scope, receive, send_guarded)
