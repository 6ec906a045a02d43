"""Problem responses in the OpenAPI document: their schema, and the list of problem types; api."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.openapi_bodies import ModelReference
from podium.api.http.problem_details import ProblemType


class ProblemPlace(BaseModel):
    """One error in a request or a sweep file."""

    location: list[str] = Field(description="keys from the outermost in")
    message: str


class Problem(BaseModel):
    """Why a request failed (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(
        description="the problem type; the description of this document lists all types",
        json_schema_extra={"enum": [kind.urn for kind in ProblemType]},
    )
    title: str = Field(description="the problem type as text")
    status: int = Field(description="the HTTP status code")
    detail: str = Field(description="what is wrong in this request, and how to fix it")
    errors: list[ProblemPlace] | None = Field(None, description="422: every error, with its location")
    possible: list[str] | None = Field(None, description="409: commands that are possible in the current state")
    position: int | None = Field(None, description="invalid-filter: offset of the error in characters, from 0")
    length: int | None = Field(None, description="invalid-filter: length of the error in characters")


def description_of_problems() -> str:
    """A Markdown table of all problem types."""
    rows = [f"| `{kind.urn}` | {kind.status} | {kind.title} |" for kind in ProblemType]
    head = ("Errors are `application/problem+json` (RFC 9457). Branch on `type`:", "", "| type | status | title |")
    return "\n".join((*head, "| --- | --- | --- |", *rows))


def _problem(description: str) -> dict[str, Any]:
    schema = ModelReference(Problem)
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


def idempotent(view: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """A route's `responses`: 200 if the idempotency key was used before."""
    return {200: {"model": view, "description": "The idempotency key was used before: the existing resource."}}


RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": _problem("The request is refused."),
    "5XX": _problem("The service cannot process the request now."),
}
