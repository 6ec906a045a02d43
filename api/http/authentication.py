"""Who may do what: a bearer token or a session's cookie on every route that is not public; api and gateway.

Whether a request comes from a page of our own is `podium.api.http.request_guard`'s business, which every request has
passed before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Connection

from podium.api.http.failed_logins import Failures
from podium.db.access import sessions, tokens
from podium.db.access.tokens import Holder, Role
from podium.db.schema.engine import Database
from podium.sweep.values.errors import ForbiddenError, UnauthorizedError

_REMEMBER_S = 5.0  # how long a secret once seen is believed without asking the database
_REMEMBER_UNKNOWN_S = 1.0
_MAX_REMEMBERED = 4096
_bearer = HTTPBearer(auto_error=False, description="the token from the data directory, admin.token")
UNKNOWN_TOKEN = "the token is unknown, expired or revoked"  # noqa: S105
_checks: set[object] = set()
Endpoint = TypeVar("Endpoint", bound=Callable[..., object])
LookUp = Callable[[Connection, str, float], Holder | None]


class Doorkeeper:
    """Knows tokens and sessions; remembers those it has just seen, by digest."""

    def __init__(self, database: Database, cookie: str) -> None:
        """`cookie` is the name of the one that carries a session."""
        self.cookie = cookie
        self.failures = Failures()
        self._database = database
        self._seen: dict[str, tuple[float, Holder | None]] = {}  # until when

    async def holder(self, token: str, address: str) -> Holder:
        """Whom a token speaks for; the database is asked beside the event loop.

        Raises `UnauthorizedError`, and `TooManyFailuresError` where that came too often from an address.
        """
        key = f"token {tokens.digest(token)}"
        holder = await self._known(key, token, tokens.holder)
        if holder is None:
            self.failures.add(address, key)
            raise UnauthorizedError(UNKNOWN_TOKEN)
        return holder

    async def visitor(self, secret: str, address: str) -> Holder:
        """Whom a session speaks for. Raises as `holder` does."""
        key = f"session {tokens.digest(secret)}"
        holder = await self._known(key, secret, sessions.holder)
        if holder is None:
            self.failures.add(address, key, once=True)
            raise UnauthorizedError("this login is over; `podium login` prints a new link")
        return holder

    def forget_all(self) -> None:
        """Something was revoked, or a session has ended: ask the database again for everybody."""
        self._seen = {}

    async def _known(self, key: str, secret: str, look_up: LookUp) -> Holder | None:
        now = time.time()
        seen = self._seen
        until, holder = seen.get(key, (0.0, None))
        if now >= until:
            holder = await asyncio.to_thread(self._look_up, look_up, secret, now)
            _remember(seen, key, now, holder)  # for nobody, if all was to be forgotten meanwhile
        return holder

    def _look_up(self, look_up: LookUp, secret: str, now: float) -> Holder | None:
        with self._database.read() as connection:
            return look_up(connection, secret, now)


def _remember(seen: dict[str, tuple[float, Holder | None]], key: str, now: float, holder: Holder | None) -> None:
    """The oldest goes where there are too many: anybody can make tokens up."""
    seen.pop(key, None)
    if len(seen) >= _MAX_REMEMBERED:
        del seen[next(iter(seen))]
    until = now + (_REMEMBER_UNKNOWN_S if holder is None else _REMEMBER_S)
    if holder is not None and holder.expires_at is not None:
        until = min(until, holder.expires_at)
    seen[key] = (until, holder)


def doorkeeper_of(request: Request) -> Doorkeeper:
    """The one of the service that a request came to."""
    found: Doorkeeper = request.app.state.doorkeeper
    return found


def session_of(request: Request) -> str | None:
    """The secret of the session that a request belongs to, by its cookie."""
    return request.cookies.get(doorkeeper_of(request).cookie)


def address_of(request: Request) -> str:
    """Where a request comes from; through a Unix socket, from this machine."""
    return "here" if request.client is None else request.client.host


async def admit(request: Request, role: Role) -> Holder:
    """Who asks. Raises `UnauthorizedError`, and `ForbiddenError` unless it is of at least this role."""
    holder = await _holder(request)
    if not holder.role.covers(role):
        raise ForbiddenError(f"this needs the role {role.value}; the token's is {holder.role.value}")
    return holder


async def _holder(request: Request) -> Holder:
    """By the header where there is one, and else by the cookie."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise UnauthorizedError
        return await doorkeeper_of(request).holder(token.strip(), address_of(request))
    secret = session_of(request)
    if secret is None:
        raise UnauthorizedError
    return await doorkeeper_of(request).visitor(secret, address_of(request))


def needs(role: Role) -> Callable[..., Holder]:
    """A dependency that lets in who holds at least this role; `_bearer` is for the API's own description."""

    async def check(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Holder:
        return await admit(request, role)

    _checks.add(check)
    return check  # type: ignore[return-value]  # FastAPI awaits it


def asks_itself(endpoint: Endpoint) -> Endpoint:
    """Marks a route's function that calls `admit` first of all; dependencies would cost it more than its work."""
    _checks.add(endpoint)
    return endpoint


def asks_for_a_role(call: object) -> bool:
    """Whether a dependency is one of `needs`, or a route's function asks by itself."""
    return call in _checks


viewer = Depends(needs(Role.VIEWER))
submitter = Depends(needs(Role.SUBMITTER))
admin = Depends(needs(Role.ADMIN))
