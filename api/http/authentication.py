"""Authenticates requests by bearer token or session cookie, and declares the role that a route requires; api, gateway.

`podium.api.http.browser_security_middleware` has rejected cross-origin requests before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Connection

from podium.api.http.login_rate_limit import LoginRateLimit
from podium.db.access import login_sessions, tokens
from podium.db.access.tokens import Holder, Role
from podium.db.schema.database import Database
from podium.sweep.values.errors import ForbiddenError, TooManyFailuresError, UnauthorizedError

CACHE_S = 5.0  # how long a known token or session is accepted without a query
CACHE_UNKNOWN_S = 1.0
MAX_CACHED = 4096
_bearer = HTTPBearer(auto_error=False, description="an access token; the admin's is in the data directory, admin.token")
UNKNOWN_TOKEN = "the token is unknown, expired or revoked"  # noqa: S105
_EXPIRED: tuple[float, Holder | None] = (0.0, None)  # a cache entry
_ROLE = "podium_role"  # attribute of a dependency or an endpoint that authorizes requests
Endpoint = TypeVar("Endpoint", bound=Callable[..., object])
LookUp = Callable[[Connection, str, float], Holder | None]


class Authenticator:
    """Looks tokens and sessions up; caches recent results by digest."""

    def __init__(
        self,
        database: Database,
        cookie: str,
        *,
        cache_s: float = CACHE_S,
        cache_unknown_s: float = CACHE_UNKNOWN_S,
        max_cached: int = MAX_CACHED,
        login_rate_limit: LoginRateLimit | None = None,
    ) -> None:
        """`cookie` is the name of the session cookie."""
        self.cookie = cookie
        self.login_rate_limit = login_rate_limit or LoginRateLimit()
        self._database = database
        self._cache_s, self._cache_unknown_s, self._max_cached = cache_s, cache_unknown_s, max_cached
        self._cache: dict[str, tuple[float, Holder | None]] = {}  # with the time at which an entry expires

    async def token_holder(self, token: str, address: str) -> Holder:
        """The holder of a token.

        Raises `UnauthorizedError`, and `TooManyFailuresError` if `address` has sent too many unknown tokens.
        """
        key = _token_key(token)
        holder = await self._find(key, token, tokens.holder)
        if holder is None:
            self.login_rate_limit.add(address, key)
            raise UnauthorizedError(UNKNOWN_TOKEN)
        return holder

    def cached_token_holder(self, token: str) -> Holder | None:
        """The holder of a token that was looked up recently; None for any other token."""
        until, holder = self._cache.get(_token_key(token), _EXPIRED)
        return holder if time.time() < until else None

    async def session_holder(self, secret: str, address: str) -> Holder:
        """The holder of a session. Raises as `token_holder` does."""
        key = f"session {tokens.digest(secret)}"
        holder = await self._find(key, secret, login_sessions.holder)
        if holder is None:
            self.login_rate_limit.add(address, key, once=True)
            raise UnauthorizedError("the session has expired; `podium login` prints a new login link")
        return holder

    def clear_cache(self) -> None:
        """Query the database again for every token and session: one was revoked or has ended."""
        self._cache = {}

    async def _find(self, key: str, secret: str, look_up: LookUp) -> Holder | None:
        now = time.time()
        cache = self._cache
        until, holder = cache.get(key, _EXPIRED)
        if now >= until:
            holder = await asyncio.to_thread(self._query, look_up, secret, now)
            self._store(cache, key, now, holder)  # without effect if the cache was cleared meanwhile
        return holder

    def _query(self, look_up: LookUp, secret: str, now: float) -> Holder | None:
        with self._database.read() as connection:
            return look_up(connection, secret, now)

    def _store(
        self, cache: dict[str, tuple[float, Holder | None]], key: str, now: float, holder: Holder | None
    ) -> None:
        """A full cache evicts its oldest entry: anybody can send made-up tokens."""
        cache.pop(key, None)
        if len(cache) >= self._max_cached:
            del cache[next(iter(cache))]
        until = now + (self._cache_unknown_s if holder is None else self._cache_s)
        if holder is not None and holder.expires_at is not None:
            until = min(until, holder.expires_at)
        cache[key] = (until, holder)


def _token_key(token: str) -> str:
    """The key of the cache: tokens themselves are not kept."""
    return f"token {tokens.digest(token)}"


def authenticator_of(request: Request) -> Authenticator:
    """The authenticator of the app that received the request."""
    found: Authenticator = request.app.state.authenticator
    return found


def session_of(request: Request) -> str | None:
    """The secret in the session cookie."""
    return request.cookies.get(authenticator_of(request).cookie)


def address_of(request: Request) -> str:
    """The client's address; `local` for a Unix socket."""
    return "local" if request.client is None else request.client.host


async def authorize(request: Request, role: Role) -> Holder:
    """The holder that sends the request. Raises `UnauthorizedError`, and `ForbiddenError` if its role is not enough."""
    holder = await authenticate(request)
    if not holder.role.covers(role):
        raise ForbiddenError(f"this request requires the role {role.value}; the token has the role {holder.role.value}")
    return holder


async def authenticate(request: Request) -> Holder:
    """The holder, by the Authorization header if present, otherwise by the session cookie.

    Raises `UnauthorizedError` and `TooManyFailuresError`.
    """
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise UnauthorizedError
        return await authenticator_of(request).token_holder(token.strip(), address_of(request))
    secret = session_of(request)
    if secret is None:
        raise UnauthorizedError
    return await authenticator_of(request).session_holder(secret, address_of(request))


def requires(role: Role) -> Callable[..., Holder]:
    """A dependency that returns the holder, whose role covers this one; `_bearer` documents it in OpenAPI."""

    async def check(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Holder:
        return await authorize(request, role)

    return _declare(check, role.value)  # type: ignore[return-value]  # FastAPI awaits it


def authorizes_itself(endpoint: Endpoint) -> Endpoint:
    """Marks a route's function that calls `authorize` first: dependencies would cost more than its work."""
    return _declare(endpoint, "declared by the endpoint")


async def _allow_everyone() -> None:
    """A dependency without effect: it declares that a route is public."""


async def _viewer_or_stranger(request: Request) -> Holder | None:
    """The holder if its role covers that of a viewer, otherwise None. An unknown token is that of a stranger."""
    try:
        return await authorize(request, Role.VIEWER)
    except (UnauthorizedError, ForbiddenError, TooManyFailuresError):
        return None


def role_of(call: object) -> str | None:
    """The role that a dependency or an endpoint declares: a role's name, `public`; None if it declares none."""
    return getattr(call, _ROLE, None)


def _declare(call: Endpoint, role: str) -> Endpoint:
    setattr(call, _ROLE, role)
    return call


PUBLIC = "public"
public = Depends(_declare(_allow_everyone, PUBLIC))
viewer_or_stranger = Depends(_declare(_viewer_or_stranger, PUBLIC))  # a public route that tells strangers less
viewer = Depends(requires(Role.VIEWER))
submitter = Depends(requires(Role.SUBMITTER))
admin = Depends(requires(Role.ADMIN))
node = Depends(requires(Role.NODE))  # no other role covers it
