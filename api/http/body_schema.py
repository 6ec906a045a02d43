"""Schemas of the OpenAPI document that FastAPI does not find by itself: bodies that routes read; api and gateway."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_AT = "#/components/schemas/"
_models: dict[str, type[BaseModel]] = {}


def ref_of(model: type[BaseModel]) -> dict[str, str]:
    """A reference to the model's schema, which the document then holds."""
    _models[model.__name__] = model
    return {"$ref": _AT + model.__name__}


def body_of(model: type[BaseModel], *, required: bool = False) -> dict[str, Any]:
    """A route's `openapi_extra`: its body is JSON of this shape."""
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": ref_of(model)}}}}


def describe_models(app: FastAPI) -> None:
    """Have the app's OpenAPI document hold all that `ref_of` points to."""
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
