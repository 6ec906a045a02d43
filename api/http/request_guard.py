"""Checks host and origin of every request and adds security headers to every response; api and gateway.

The outermost middleware: it also covers unknown paths and errors. It reads the raw headers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.api.http.direct_handler_interface import DirectHandler
from podium.api.http.direct_routes import DirectRoutes
from podium.api.http.host_names import HostNames, is_loopback
from podium.api.http.problem_details import ProblemType, problem

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_REPLACED = frozenset(name for name, _ in _RAW) - {b"content-security-policy"}
_NO_STORE = (b"cache-control", b"no-store")
_TLS_ONLY = (b"strict-transport-security", b"max-age=31536000")
_SAFE = ("GET", "HEAD", "OPTIONS")
_SAME_ORIGIN = (b"same-origin", b"none")  # none: the address bar, a bookmark
Headers = list[tuple[bytes, bytes]]


class GuardedApp(FastAPI):
    """An app behind `RequestGuard`. The attributes must be set before the first request.

    `direct_routes` are those of its routes that are answered without middleware and router, `direct_handler` answers
    requests of `DirectProtocol` without ASGI.
    """

    host_names: HostNames
    direct_routes: Sequence[Route] = ()
    direct_handler: DirectHandler | None = None
    _guard: RequestGuard | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        if self._guard is None:
            self._guard = RequestGuard(DirectRoutes(super().__call__, self.direct_routes), self.host_names)
        await self._guard(scope, receive, send)


class RequestGuard:
    """Rejects requests with an unknown host or from another origin."""

    def __init__(self, app: ASGIApp, host_names: HostNames) -> None:
        self._app = app
        self._host_names = host_names

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


def refusal(scope: Scope, host_names: HostNames) -> JSONResponse | None:
    """The response to a request with an unknown host or from another origin; None for any other."""
    headers: Headers = scope["headers"]
    if not _is_local(scope) and not host_names.allow(_values(headers, b"host")):
        return problem(
            ProblemType.UNKNOWN_HOST,
            "use the address that `podium serve` prints, or allow this host name with --allowed-host",
        )
    if is_cross_origin(scope["method"], headers):
        return problem(ProblemType.CROSS_ORIGIN, "only pages of this service may send this request")
    return None


def guarded_headers(scope: Scope, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of a response together with the security headers."""
    return _with_security_headers(headers) + _transport_headers(scope)


def is_cross_origin(method: str, headers: Headers) -> bool:
    """Whether a page of another origin sends the request; a link on such a page is allowed.

    Reads Sec-Fetch-Site, which pages cannot forge, or else Origin (as Go's CrossOriginProtection does). Clients other
    than browsers send none of these headers.
    """
    sites = _values(headers, b"sec-fetch-site")
    if sites:
        return not (all(site in _SAME_ORIGIN for site in sites) or _is_link(method, headers))
    origins = _values(headers, b"origin")
    if not origins or method in _SAFE:
        return False
    host = (_values(headers, b"host") or [b""])[0]
    return any(origin.lower().partition(b"://")[2] != host.lower() for origin in origins)


def _is_link(method: str, headers: Headers) -> bool:
    mode, target = _values(headers, b"sec-fetch-mode"), _values(headers, b"sec-fetch-dest")
    return method == "GET" and mode == [b"navigate"] and target in ([b"document"], [])


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [header[1] for header in headers if header[0] == name]


def _transport_headers(scope: Scope) -> Headers:
    """Strict-Transport-Security under TLS.

    Not for loopback names: browsers would apply it to every port, where other services may not use TLS.
    """
    if scope.get("scheme") != "https":
        return []
    hosts = _values(scope["headers"], b"host")
    return [_TLS_ONLY] if len(hosts) == 1 and not is_loopback(hosts[0]) else []


def _is_local(scope: Scope) -> bool:
    """Whether the request came through a Unix socket, which only this user can open and no browser can."""
    server = scope.get("server")
    return server is not None and server[1] is None


def _with_security_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Replaces the route's headers, except its content security policy: a browser enforces all of them."""
    kept = [header for header in headers if header[0] not in _REPLACED]
    if all(name != b"cache-control" for name, _ in kept):
        kept.append(_NO_STORE)
    return kept + _RAW
