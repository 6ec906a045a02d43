"""The REST responses about tokens and logins; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import TypedDict


class TokenInfo(TypedDict):
    """An access token without its secret."""

    id: int
    name: str
    role: str
    state: str
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    revoked_by: str


class NewTokenInfo(TokenInfo):
    """A token that was just created; `token` is its secret."""

    token: str


class LoginLink(TypedDict):
    """A link that logs a browser in once."""

    url: str
    expires_at: str
