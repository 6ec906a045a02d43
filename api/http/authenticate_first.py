"""Who sends a body says first who they are: of what is refused anyway, nothing is read; api.

FastAPI reads a JSON body before it looks at anything that a route depends on. Routes that read bodies by themselves ask
first, and are not concerned.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.api.http import problem_details
from podium.api.http.authentication import admit
from podium.api.http.route_roles import PUBLIC
from podium.db.access.tokens import Role
from podium.sweep.values.errors import PodiumError


class Identified:
    """Refuses a body of somebody unknown by its head alone. What their role is, the route asks."""

    def __init__(self, app: ASGIApp, asking: tuple[str, ...]) -> None:
        self._app = app
        self._asking = asking  # beginnings of paths whose routes ask in words of their own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _sends_a_body(scope) and scope["path"] not in PUBLIC and not scope["path"].startswith(self._asking):
            request = Request(scope)
            try:
                await admit(request, Role.VIEWER)
            except PodiumError as error:
                await problem_details.answer_to(request, error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _sends_a_body(scope: Scope) -> bool:
    if scope["type"] != "http":
        return False
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )
