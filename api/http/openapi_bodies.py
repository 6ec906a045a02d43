"""Adds schemas to the OpenAPI document for bodies that FastAPI does not parse; api."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from podium.api.http.route_roles import all_routes

_SCHEMAS = "#/components/schemas/"


class ModelReference(dict[str, str]):
    """A JSON Schema reference to a model, which `describe_models` adds to the document."""

    def __init__(self, model: type[BaseModel]) -> None:
        super().__init__({"$ref": _SCHEMAS + model.__name__})
        self.model = model


def body_of(model: type[BaseModel], *, required: bool = False) -> dict[str, Any]:
    """A route's `openapi_extra`: its body is JSON of this shape."""
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": ModelReference(model)}}}}


def describe_models(app: FastAPI) -> None:
    """Make the app's OpenAPI document contain every model that a `ModelReference` names."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        models = dict.fromkeys(_referenced(app))
        _, found = models_json_schema([(model, "validation") for model in models], ref_template=_SCHEMAS + "{model}")
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in found.get("$defs", {}).items():
            schemas.setdefault(name, schema)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _referenced(app: FastAPI) -> Iterator[type[BaseModel]]:
    yield from _models_in(app.router.responses)
    for route in all_routes(app.routes):
        if isinstance(route, APIRoute):
            yield from _models_in(route.openapi_extra)
            yield from _models_in(route.responses)


def _models_in(described: object) -> Iterator[type[BaseModel]]:
    if isinstance(described, ModelReference):
        yield described.model
    elif isinstance(described, dict):
        yield from _models_of_all(described.values())


def _models_of_all(described: Iterable[object]) -> Iterator[type[BaseModel]]:
    for each in described:
        yield from _models_in(each)
