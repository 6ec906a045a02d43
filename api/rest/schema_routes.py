"""JSON Schema over REST, for editors: public, since it tells no secret and editors send no token; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from podium.sweep.spec.json_schema import sweep_schema

router = APIRouter(tags=["schemas"])


class SchemaResponse(JSONResponse):
    """A JSON Schema."""

    media_type = "application/schema+json"


@router.get("/schemas/sweep-v1.json", response_class=SchemaResponse)
def show_sweep_schema() -> SchemaResponse:
    """The sweep file (JSON Schema, draft 2020-12): `# yaml-language-server: $schema=URL` as its first line."""
    return SchemaResponse(sweep_schema())
