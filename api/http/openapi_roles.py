"""Adds the role that each route requires to the OpenAPI document; api."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from podium.api.http.route_roles import all_routes, roles_of

REQUIRED_ROLE = "x-required-role"  # an extension of OpenAPI: `viewer`, `submitter`, `admin`, `node` or `public`


def describe_roles(app: FastAPI) -> None:
    """Make the app's OpenAPI document name the role that each of its operations requires."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        for route in all_routes(app.routes):
            if not isinstance(route, APIRoute) or not route.include_in_schema:
                continue
            (role,) = roles_of(route)
            for method in route.methods or ():
                document["paths"][route.path_format][method.lower()][REQUIRED_ROLE] = role
        return document

    app.openapi = openapi  # type: ignore[method-assign]
