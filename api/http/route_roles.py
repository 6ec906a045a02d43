"""The roles that routes declare; without a role, or `PUBLIC`, an app does not start; api and gateway."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from re import Pattern

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from podium.api.http.authentication import PUBLIC, role_of
from podium.api.http.request_body import is_own_body_reader

OPENAPI = "/openapi.json"  # FastAPI's own route, which takes no dependencies; it describes the routes, and is public


def check(routes: Iterable[BaseRoute]) -> None:
    """Raises `RuntimeError` with the path of every route that declares no role."""
    undeclared = [route.path for route in all_routes(routes) if route.path != OPENAPI and not roles_of(route)]
    if undeclared:
        raise RuntimeError(f"routes without a role: {', '.join(undeclared)}")


def public_paths(routes: Iterable[BaseRoute]) -> frozenset[str]:
    """The paths with a public route; other methods of the same path may require a role."""
    return frozenset({OPENAPI} | {route.path for route in all_routes(routes) if PUBLIC in roles_of(route)})


def own_body_patterns(routes: Iterable[BaseRoute]) -> list[Pattern[str]]:
    """The paths of the routes that read their body themselves."""
    return [route.path_regex for route in all_routes(routes) if is_own_body_reader(route.endpoint)]


def all_routes(routes: Iterable[BaseRoute]) -> Iterator[Route]:
    """Every route, including those of included routers. Raises `RuntimeError` for mounts and other kinds."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from all_routes(included.routes)
        elif isinstance(route, Route):
            yield route
        else:
            raise RuntimeError(f"{route} is not a plain route: its role cannot be checked")


def roles_of(route: Route) -> set[str]:
    """The roles that a route and its dependencies declare: one, or none."""
    declared = {role_of(route.endpoint)}
    if isinstance(route, APIRoute):
        declared |= set(_declared_by(route.dependant))
    return {role for role in declared if role is not None}


def _declared_by(dependant: Dependant) -> Iterator[str | None]:
    yield role_of(dependant.call)
    for each in dependant.dependencies:
        yield from _declared_by(each)
