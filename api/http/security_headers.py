"""Security headers for every response; api and gateway."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Scope

from podium.api.http.allowed_host_names import is_loopback
from podium.api.http.raw_headers import Headers, header_values

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


def guarded_headers(scope: Scope, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of a response together with the security headers."""
    return _with_security_headers(headers) + _transport_headers(scope)


def _transport_headers(scope: Scope) -> Headers:
    """Strict-Transport-Security under TLS.

    Not for loopback names: browsers would apply it to every port, where other services may not use TLS.
    """
    if scope.get("scheme") != "https":
        return []
    hosts = header_values(scope["headers"], b"host")
    return [_TLS_ONLY] if len(hosts) == 1 and not is_loopback(hosts[0]) else []


def _with_security_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Replaces the route's headers, except its content security policy: a browser enforces all of them."""
    kept = [header for header in headers if header[0] not in _REPLACED]
    if all(name != b"cache-control" for name, _ in kept):
        kept.append(_NO_STORE)
    return kept + _RAW
