"""Logging in with a browser, over REST: a link's code or a token becomes a session, kept in a cookie; api.

No script can read the cookie, and no other site's page can make a browser send it. Its name has the port, since
cookies know no ports: two services on one machine must not log each other out.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Self

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from podium.api.http.authentication import UNKNOWN_TOKEN, address_of, doorkeeper_of, session_of, viewer
from podium.api.http.route_context import ServiceContext, context
from podium.api.rest.models.response_models import View, time_of
from podium.db.access import sessions, tokens
from podium.db.access.sessions import NewSession
from podium.db.access.tokens import Holder, Role
from podium.sweep.runtime.component import wake
from podium.sweep.values.errors import UnauthorizedError

SESSION_S = 14 * 86400.0
LINK_S = 600.0
LONGEST_LINK_S = 86400.0
USED_LINK = "this link was used already, or is too old; `podium login` prints a new one"

router = APIRouter(prefix="/api/v1", tags=["access"])


class Login(BaseModel):
    """What lets a browser in: the code of a login link, or a token; one of them."""

    model_config = ConfigDict(extra="forbid")

    code: str | None = Field(None, min_length=1, max_length=200)
    token: str | None = Field(None, min_length=1, max_length=200)

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.code is None) == (self.token is None):
            raise ValueError("send either code or token")
        return self


class LinkWanted(BaseModel):
    """How long a login link is to hold."""

    model_config = ConfigDict(extra="forbid")

    valid_s: float = Field(LINK_S, ge=1.0, le=LONGEST_LINK_S)


class SessionView(View):
    """Who asks, and what they may do."""

    name: str  # of the token that the session speaks for
    role: Role
    expires_at: datetime | None  # null: not by itself


class LoginLinkView(View):
    """A link that logs a browser in, once."""

    url: str
    expires_at: datetime


@router.post("/session")
def log_in(body: Login, request: Request, response: Response, service: ServiceContext = context) -> SessionView:
    """Log a browser in: the answer sets a cookie. A code works once."""
    begun = _begun(body, service, time.time())
    if begun is None:
        doorkeeper_of(request).failures.add(address_of(request), tokens.digest(body.code or body.token or ""))
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


def _begun(body: Login, service: ServiceContext, now: float) -> NewSession | None:
    """A session; None for what lets nobody in, for which nobody who writes to the database has to wait."""
    token = (body.token or "").strip()
    with service.database.read() as connection:
        if body.code is not None:
            good = sessions.is_open(connection, body.code, now)
        else:
            good = tokens.holder(connection, token, now) is not None
    if not good:
        return None
    with service.database.write() as connection:
        if body.code is not None:
            holder = sessions.redeem(connection, body.code, now)
        else:
            holder = tokens.holder(connection, token, now)
        return None if holder is None else sessions.begin(connection, holder, now, SESSION_S)


@router.get("/session")
def show_session(holder: Holder = viewer) -> SessionView:
    """Who asks, by token or by cookie."""
    return SessionView(name=holder.name, role=holder.role, expires_at=time_of(holder.expires_at))


@router.delete("/session", dependencies=[viewer], status_code=204)
def log_out(request: Request, response: Response, service: ServiceContext = context) -> None:
    """End the session of this browser; a token stays what it is."""
    secret = session_of(request)
    if secret is not None:
        with service.database.write() as connection:
            sessions.end(connection, secret)
        doorkeeper_of(request).forget_all()
        wake(service.settings.runtime.wake_socket("gateway"))  # which forgets, too
    response.delete_cookie(
        service.settings.session_cookie, httponly=True, samesite="strict", secure=request.scope["scheme"] == "https"
    )


@router.post("/login-links", status_code=201)
def make_login_link(
    body: LinkWanted | None = None, service: ServiceContext = context, holder: Holder = viewer
) -> LoginLinkView:
    """A link for a browser that is to do what the one who asks may do. It works once."""
    now = time.time()
    expires_at = now + (body or LinkWanted()).valid_s
    with service.database.write() as connection:
        code = sessions.new_code(connection, holder.token_id, now, expires_at)
    return LoginLinkView(url=f"{service.settings.public_url}/login#{code}", expires_at=time_of(expires_at))
