"""What every request passes first and every answer gets last: host, origin, headers against browsers; api, gateway.

Outermost of all: also what no route knows, and what went wrong in one, is guarded. Only headers as they came count.
"""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.api.http.host_names import HostNames, is_loopback
from podium.api.http.problem_details import problem

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
_OURS = frozenset(name for name, _ in _RAW) - {b"content-security-policy"}
_NO_STORE = (b"cache-control", b"no-store")
_BY_TLS_ALONE = (b"strict-transport-security", b"max-age=31536000")
_SAFE = ("GET", "HEAD", "OPTIONS")
_OWN = (b"same-origin", b"none")  # none: the address bar, a bookmark
Headers = list[tuple[bytes, bytes]]


class Guarded(FastAPI):
    """An application behind the guard; `host_names` must be set before the first request."""

    host_names: HostNames

    def build_middleware_stack(self) -> ASGIApp:
        return Guard(super().build_middleware_stack(), self.host_names)


class Guard:
    """See the module."""

    def __init__(self, app: ASGIApp, host_names: HostNames) -> None:
        self._app = app
        self._host_names = host_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_ours(message.get("headers", ())) + _of_transport(scope)
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers: Headers = scope["headers"]
        hosts = _values(headers, b"host")
        if not _is_local(scope) and not self._host_names.allow(hosts):
            return problem(
                421,
                "The service is not called that",
                "open it at the address that `podium serve` says; other names need --allowed-host",
            )
        if is_cross_origin(scope["method"], headers):
            return problem(403, "The request comes from another site", "only pages of this service may ask that")
        return None


def is_cross_origin(method: str, headers: Headers) -> bool:
    """Whether a page of another origin asks; but such a page may lead here, by a link.

    By Sec-Fetch-Site, which pages cannot forge, and by Origin where a browser sends only that (as Go's
    CrossOriginProtection does). What is sent by no browser has neither.
    """
    sites = _values(headers, b"sec-fetch-site")
    if sites:
        return not (all(site in _OWN for site in sites) or _is_a_link(method, headers))
    origins = _values(headers, b"origin")
    if not origins or method in _SAFE:
        return False
    host = (_values(headers, b"host") or [b""])[0]
    return any(origin.lower().partition(b"://")[2] != host.lower() for origin in origins)


def _is_a_link(method: str, headers: Headers) -> bool:
    mode, target = _values(headers, b"sec-fetch-mode"), _values(headers, b"sec-fetch-dest")
    return method == "GET" and mode == [b"navigate"] and target in ([b"document"], [])


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _of_transport(scope: Scope) -> Headers:
    """Under TLS, browsers use nothing else for this name from then on.

    But for names of loopback, where other services without TLS may be: browsers would mean every port by it.
    """
    hosts = _values(scope["headers"], b"host")
    by_tls = scope.get("scheme") == "https" and len(hosts) == 1 and not is_loopback(hosts[0])
    return [_BY_TLS_ALONE] if by_tls else []


def _is_local(scope: Scope) -> bool:
    """Whether it came through a Unix socket, which only this user can open and no browser does."""
    server = scope.get("server")
    return server is not None and server[1] is None


def _with_ours(headers: Headers) -> Headers:
    """Ours in place of a route's; but of several content policies a browser keeps to each."""
    kept = [(name, value) for name, value in headers if name not in _OURS]
    if not any(name == b"cache-control" for name, _ in kept):
        kept.append(_NO_STORE)
    return kept + _RAW
