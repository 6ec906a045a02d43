"""What an error looks like in the OpenAPI document: problem+json, on every route; api and gateway."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.body_schema import ref_of


class ProblemPlace(BaseModel):
    """One thing that is wrong in a request or a sweep file."""

    location: list[str] = Field(description="where, from the outside in")
    message: str


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field("about:blank", description="no more is said of it elsewhere")
    title: str
    status: int
    detail: str = Field(description="what is wrong, and what to do about it")
    errors: list[ProblemPlace] | None = Field(None, description="each thing that is wrong, where there may be several")
    possible: list[str] | None = Field(None, description="409: what can be done now in its place")
    position: int | None = Field(None, description="of a filter: where what is wrong begins, from 0")
    length: int | None = Field(None, description="of a filter: how long it is")


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/problem+json": {"schema": ref_of(Problem)}}}


def again(view: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """A route's `responses`: 200, and nothing new, where the idempotency key was used before."""
    return {200: {"model": view, "description": "The same key was used before: this came of it."}}


RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": _problem("The request is refused."),
    "5XX": _problem("The service cannot do it now."),
}
