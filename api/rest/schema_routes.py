"""JSON Schema of the sweep file over REST, for editors. Public: editors send no token; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from podium.api.http.authentication import public
from podium.sweep.spec.json_schema import sweep_schema

router = APIRouter(tags=["schemas"])


class SchemaResponse(JSONResponse):
    """A JSON Schema."""

    media_type = "application/schema+json"


@router.get("/schemas/sweep-v1.json", dependencies=[public], response_class=SchemaResponse)
def show_sweep_schema() -> SchemaResponse:
    """JSON Schema (draft 2020-12) of the sweep file. In the file: `# yaml-language-server: $schema=URL`."""
    return SchemaResponse(sweep_schema())
