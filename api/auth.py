"""Who may do what: a bearer token on every route, unless the route declares itself public; api and gateway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from db import tokens
from db.engine import Database
from db.tokens import Holder, Role
from sweep.errors import ForbiddenError, UnauthorizedError

_REMEMBER_S = 5.0  # how long a token once seen is believed without asking the database
_REMEMBER_UNKNOWN_S = 1.0
_MAX_REMEMBERED = 4096
_bearer = HTTPBearer(auto_error=False, description="the token from the data directory, admin.token")


class Doorkeeper:
    """Knows the tokens; remembers those it has just seen, by digest."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: dict[str, tuple[float, Holder | None]] = {}  # until when

    async def holder(self, token: str) -> Holder:
        """Whom a token speaks for; the database is asked beside the event loop. Raises `UnauthorizedError`."""
        now = time.time()
        key = tokens.digest(token)
        until, holder = self._seen.get(key, (0.0, None))
        if now >= until:
            holder = await asyncio.to_thread(self._look_up, token, now)
            self._remember(key, now, holder)
        if holder is None:
            raise UnauthorizedError("the token is unknown, expired or revoked")
        return holder

    def _look_up(self, token: str, now: float) -> Holder | None:
        with self._database.read() as connection:
            return tokens.holder(connection, token, now)

    def _remember(self, key: str, now: float, holder: Holder | None) -> None:
        """The oldest goes where there are too many: anybody can make tokens up."""
        self._seen.pop(key, None)
        if len(self._seen) >= _MAX_REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = (now + (_REMEMBER_UNKNOWN_S if holder is None else _REMEMBER_S), holder)


async def admit(request: Request, role: Role) -> Holder:
    """Who asks, by the token. Raises `UnauthorizedError`, and `ForbiddenError` unless it is of at least this role."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise UnauthorizedError
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    holder = await doorkeeper.holder(token.strip())
    if not holder.role.covers(role):
        raise ForbiddenError(f"this needs the role {role.value}; the token's is {holder.role.value}")
    return holder


def needs(role: Role) -> Callable[..., Holder]:
    """A dependency that lets in who holds a token of at least this role; `_bearer` is for the API's own description."""

    async def check(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Holder:
        return await admit(request, role)

    return check  # type: ignore[return-value]  # FastAPI awaits it


viewer = Depends(needs(Role.VIEWER))
submitter = Depends(needs(Role.SUBMITTER))
admin = Depends(needs(Role.ADMIN))
