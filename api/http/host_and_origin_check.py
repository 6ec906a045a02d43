"""Refuses requests with an unknown host or from another origin; api and gateway."""

from __future__ import annotations

from fastapi.responses import JSONResponse
from starlette.types import Scope

from podium.api.http.allowed_host_names import HostNames
from podium.api.http.problem_details import ProblemType, problem
from podium.api.http.raw_headers import Headers, header_values

_SAFE = ("GET", "HEAD", "OPTIONS")
_SAME_ORIGIN = (b"same-origin", b"none")  # none: the address bar, a bookmark


def refusal(scope: Scope, allowed_host_names: HostNames) -> JSONResponse | None:
    """The response to a request with an unknown host or from another origin; None for any other."""
    headers: Headers = scope["headers"]
    if not _is_local(scope) and not allowed_host_names.allow(header_values(headers, b"host")):
        return problem(
            ProblemType.UNKNOWN_HOST,
            "use the address that `podium serve` prints, or allow this host name with --allowed-host",
        )
    if is_cross_origin(scope["method"], headers):
        return problem(ProblemType.CROSS_ORIGIN, "only pages of this service may send this request")
    return None


def is_cross_origin(method: str, headers: Headers) -> bool:
    """Whether a page of another origin sends the request; a link on such a page is allowed.

    Reads Sec-Fetch-Site, which pages cannot forge, or else Origin (as Go's CrossOriginProtection does). Clients other
    than browsers send none of these headers.
    """
    sites = header_values(headers, b"sec-fetch-site")
    if sites:
        return not (all(site in _SAME_ORIGIN for site in sites) or _is_link(method, headers))
    origins = header_values(headers, b"origin")
    if not origins or method in _SAFE:
        return False
    host = (header_values(headers, b"host") or [b""])[0]
    return any(origin.lower().partition(b"://")[2] != host.lower() for origin in origins)


def _is_link(method: str, headers: Headers) -> bool:
    mode, target = header_values(headers, b"sec-fetch-mode"), header_values(headers, b"sec-fetch-dest")
    return method == "GET" and mode == [b"navigate"] and target in ([b"document"], [])


def _is_local(scope: Scope) -> bool:
    """Whether the request came through a Unix socket, which only this user can open and no browser can."""
    server = scope.get("server")
    return server is not None and server[1] is None
