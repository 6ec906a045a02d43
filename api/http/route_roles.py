"""Deny by default: with a route that says neither a role nor that it is public, nothing starts; api, gateway."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from podium.api.http.authentication import asks_for_a_role

PUBLIC = frozenset(
    {
        "/healthz",
        "/readyz",
        "/openapi.json",  # describes the routes, and tells no secret
        "/schemas/sweep-v1.json",  # editors send no token
        "/v2/health/{probe}",
        "/v2/health/live",
        "/v2/health/ready",
        "/api/v1/session",  # to log in: what lets one in is in the body; the others of this path ask for a role
    }
)


def check(routes: Iterable[BaseRoute]) -> None:
    """Raises `RuntimeError` that names every route which anybody could use without having been meant to."""
    open_to_all = [route.path for route in _all(routes) if not _declares(route)]
    if open_to_all:
        raise RuntimeError(f"these routes say no role: {', '.join(open_to_all)}")


def _all(routes: Iterable[BaseRoute]) -> Iterator[Route]:
    """Every route, those of included routers too."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from _all(included.routes)
        elif isinstance(route, Route):
            yield route
        else:
            raise RuntimeError(f"{route} is no plain route: nothing says who may use it")


def _declares(route: Route) -> bool:
    if route.path in PUBLIC or asks_for_a_role(route.endpoint):
        return True
    return isinstance(route, APIRoute) and _asks(route.dependant)


def _asks(dependant: Dependant) -> bool:
    return asks_for_a_role(dependant.call) or any(_asks(each) for each in dependant.dependencies)
