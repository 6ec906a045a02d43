"""The schemas of bodies that a route reads by itself, in the OpenAPI document; api and gateway."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_AT = "#/components/schemas/"
_models: dict[str, type[BaseModel]] = {}


def body_of(model: type[BaseModel], *, required: bool = False) -> dict[str, Any]:
    """A route's `openapi_extra`: its body is JSON of this shape."""
    _models[model.__name__] = model
    content = {"application/json": {"schema": {"$ref": _AT + model.__name__}}}
    return {"requestBody": {"required": required, "content": content}}


def describe_bodies(app: FastAPI) -> None:
    """Have the app's OpenAPI document hold what `body_of` points to."""
    own = app.openapi

    def openapi() -> dict[str, Any]:
        document = own()
        wanted = [(model, "validation") for model in _models.values()]
        _, found = models_json_schema(wanted, ref_template=_AT + "{model}")  # type: ignore[arg-type]
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in found.get("$defs", {}).items():
            schemas.setdefault(name, schema)
        return document

    app.openapi = openapi  # type: ignore[method-assign]
