"""Browser sessions over REST: a login link's code or a token is exchanged for a session cookie; api.

The cookie is HttpOnly and SameSite=Strict. Its name contains the port: cookies are shared by all ports of a host, and
two services on one machine must not overwrite each other's sessions.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Self

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from podium.api.http.authentication import UNKNOWN_TOKEN, address_of, authenticator_of, public, session_of, viewer
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View, time_of
from podium.db.access import login_sessions, tokens
from podium.db.access.login_sessions import NewSession
from podium.db.access.tokens import Holder, Role
from podium.sweep.values.errors import ForbiddenError, UnauthorizedError

SESSION_S = 14 * 86400.0
LINK_S = 600.0
MAX_LINK_S = 86400.0
USED_LINK = "the login link has been used or has expired; `podium login` prints a new one"

router = APIRouter(prefix="/api/v1", tags=["access"])


class Login(BaseModel):
    """Credentials of a browser: the code of a login link, or a token."""

    model_config = ConfigDict(extra="forbid")

    code: str | None = Field(None, min_length=1, max_length=200)
    token: str | None = Field(None, min_length=1, max_length=200)

    @model_validator(mode="after")
    def _has_exactly_one(self) -> Self:
        if (self.code is None) == (self.token is None):
            raise ValueError("set either code or token")
        return self


class LinkWanted(BaseModel):
    """How long a login link is valid."""

    model_config = ConfigDict(extra="forbid")

    valid_s: float = Field(LINK_S, ge=1.0, le=MAX_LINK_S)


class SessionView(View):
    """The holder of the session or token, and its role."""

    name: str  # of the token that the session belongs to
    role: Role
    expires_at: datetime | None  # null: never


class LoginLinkView(View):
    """A login link for one use."""

    url: str
    expires_at: datetime


@router.post("/session", dependencies=[public])
def log_in(body: Login, request: Request, response: Response, service: ServiceContext = context) -> SessionView:
    """Log in: the response sets the session cookie. A code can be used once. The token of a node is refused."""
    begun = _begin(body, service, time.time())
    if begun is None:
        authenticator_of(request).login_rate_limit.add(
            address_of(request), tokens.digest(body.code or body.token or "")
        )
        raise UnauthorizedError(UNKNOWN_TOKEN if body.code is None else USED_LINK)
    response.set_cookie(
        service.settings.session_cookie,
        begun.secret,
        max_age=int(begun.expires_at - time.time()),
        httponly=True,
        samesite="strict",
        secure=request.scope["scheme"] == "https",
    )
    return SessionView(name=begun.holder.name, role=begun.holder.role, expires_at=time_of(begun.expires_at))


def _begin(body: Login, service: ServiceContext, now: float) -> NewSession | None:
    """A new session; None for invalid credentials, which are rejected without a write transaction.

    Raises `ForbiddenError` for the token of a node.
    """
    token = (body.token or "").strip()
    with service.database.read() as connection:
        if body.code is not None:
            valid = login_sessions.is_open(connection, body.code, now)
        else:
            holder = tokens.holder(connection, token, now)
            valid = holder is not None
            if holder is not None and not holder.role.covers(Role.VIEWER):
                raise ForbiddenError(f"a token with the role {holder.role.value} cannot log in")
    if not valid:
        return None
    with service.database.write() as connection:
        if body.code is not None:
            holder = login_sessions.redeem(connection, body.code, now)
        else:
            holder = tokens.holder(connection, token, now)
        return None if holder is None else login_sessions.create_session(connection, holder, now, SESSION_S)


@router.get("/session")
def show_session(holder: Holder = viewer) -> SessionView:
    """The holder of the token or session."""
    return SessionView(name=holder.name, role=holder.role, expires_at=time_of(holder.expires_at))


@router.delete("/session", dependencies=[viewer], status_code=204)
def log_out(request: Request, response: Response, service: ServiceContext = context) -> None:
    """End this browser's session. Tokens are not affected."""
    secret = session_of(request)
    if secret is not None:
        with service.database.write() as connection:
            login_sessions.delete_session(connection, secret)
        authenticator_of(request).clear_cache()
        service.wake_gateways()  # which caches sessions, too
    response.delete_cookie(
        service.settings.session_cookie, httponly=True, samesite="strict", secure=request.scope["scheme"] == "https"
    )


@router.post("/login-links", status_code=201)
def make_login_link(
    body: LinkWanted | None = None, service: ServiceContext = context, holder: Holder = viewer
) -> LoginLinkView:
    """Create a login link with the role of the requesting token. It can be used once."""
    now = time.time()
    expires_at = now + (body or LinkWanted()).valid_s
    with service.database.write() as connection:
        code = login_sessions.new_code(connection, holder.token_id, now, expires_at)
    return LoginLinkView(url=f"{service.settings.public_url}/login#{code}", expires_at=time_of(expires_at))
