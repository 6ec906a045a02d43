"""Rejects a request with a body from an unauthenticated client before the body is read; api.

FastAPI reads a JSON body before it resolves a route's dependencies. Routes that read their body themselves authorize
first; for them this check is redundant.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.api.http import problem_details
from podium.api.http.authentication import authenticate
from podium.sweep.values.errors import PodiumError


class AuthenticateFirst:
    """Middleware that authenticates by the headers alone. The route checks the role."""

    def __init__(self, app: ASGIApp, public: frozenset[str], own_errors: tuple[str, ...]) -> None:
        """`own_errors`: prefixes of paths whose routes answer errors in a format of their own."""
        self._app = app
        self._public = public
        self._own_errors = own_errors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _has_body(scope) and scope["path"] not in self._public and not scope["path"].startswith(self._own_errors):
            request = Request(scope)
            try:
                await authenticate(request)
            except PodiumError as error:
                await problem_details.answer_to(request, error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _has_body(scope: Scope) -> bool:
    if scope["type"] != "http":
        return False
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )
