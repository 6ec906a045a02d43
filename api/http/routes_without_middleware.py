"""Answers selected routes in front of FastAPI's middleware and router, which cost more than a prediction; gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fastapi import Request, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.api.http import problem_details

Endpoint = Callable[[Request], Awaitable[Response]]


class RoutesWithoutMiddleware:
    """Calls the endpoint of the first route that matches path and method; all other requests go to `app`.

    The routes must also be routes of `app`: it answers other methods, and `route_roles` finds them there. Errors
    are answered as `app` answers them.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._app = app
        self._routes = [(route.path_regex, route.methods or (), route.endpoint) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._match(scope) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await endpoint(request)
        except Exception as error:  # noqa: BLE001 - every error is answered, as by the app
            response = problem_details.response_to(request, error)
        await response(scope, receive, send)

    def _match(self, scope: Scope) -> Endpoint | None:
        for pattern, methods, endpoint in self._routes:
            if scope["method"] in methods and (match := pattern.match(scope["path"])):
                scope["path_params"] = match.groupdict()
                found: Endpoint = endpoint
                return found
        return None
