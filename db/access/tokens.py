"""Access tokens, stored as SHA-256; api and gateway."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, or_, select, update

from podium.db.schema.tables import login_codes, sessions, tokens
from podium.sweep.values.errors import ConflictError, NotFoundError

_PREFIX = "podium_"
SERVE = "serve"  # creator of the data directory's token


class Role(StrEnum):
    """The role of a token. Each role of people includes the lower ones; `node` includes none, and none includes it."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    ADMIN = "admin"
    NODE = "node"  # the agent of another machine

    def covers(self, needed: Role) -> bool:
        if Role.NODE in (self, needed):
            return self is needed
        return _ROLE_ORDER.index(self) >= _ROLE_ORDER.index(needed)


_ROLE_ORDER = (Role.VIEWER, Role.SUBMITTER, Role.ADMIN)  # each includes the ones before it
TokenState = Literal["valid", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of a token."""

    token_id: int
    name: str
    role: Role
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A stored token."""

    id: int
    name: str
    role: Role
    digest: str
    created_at: float
    created_by: str  # the name of another token
    expires_at: float | None
    revoked_at: float | None
    revoked_by: str

    def state(self, now: float) -> TokenState:
        """Valid, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token; `secret` is shown once."""

    secret: str
    row: TokenRow


def new_token() -> str:
    """A new secret of 256 bits, with a prefix that secret scanners recognize."""
    return _PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """The hash that is stored for a token."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def add(
    connection: Connection, name: str, role: Role, token: str, at: float, *, by: str = "", until: float | None = None
) -> int:
    """Store a token that is valid `until` then; returns its id. A known token is not changed."""
    known = connection.execute(select(tokens.c.id).where(tokens.c.digest == digest(token))).scalar_one_or_none()
    if known is not None:
        return int(known)
    values = {"name": name, "role": role.value, "digest": digest(token), "created_at": at, "created_by": by}
    statement = insert(tokens).values(values | {"expires_at": until}).returning(tokens.c.id)
    return int(connection.execute(statement).scalar_one())


def create(connection: Connection, name: str, role: Role, at: float, *, by: str, until: float | None) -> NewToken:
    """Create a token. Raises `ConflictError` if a valid token has the same name."""
    taken = connection.execute(select(tokens.c.id).where(tokens.c.name == name, is_valid(at))).first()
    if taken is not None:
        raise ConflictError(f"a valid token {name!r} already exists (id {taken.id}); revoke it or choose another name")
    secret = new_token()
    return NewToken(secret, get(connection, add(connection, name, role, token=secret, at=at, by=by, until=until)))


def install_admin(connection: Connection, token: str, at: float) -> None:
    """Make `token` the only admin token of the data directory; earlier ones of `serve` are revoked."""
    known = add(connection, "admin", Role.ADMIN, token=token, at=at, by=SERVE)
    earlier = select(tokens.c.id).where(
        tokens.c.created_by == SERVE, tokens.c.id != known, tokens.c.revoked_at.is_(None)
    )
    for token_id in connection.execute(earlier).scalars().all():
        revoke(connection, token_id, SERVE, at)


def revoke(connection: Connection, token_id: int, by: str, at: float) -> None:
    """Revoke a token with its sessions and login codes. Raises `NotFoundError`."""
    if get(connection, token_id).revoked_at is not None:
        return
    connection.execute(update(tokens).where(tokens.c.id == token_id).values(revoked_at=at, revoked_by=by))
    connection.execute(delete(sessions).where(sessions.c.token_id == token_id))
    connection.execute(delete(login_codes).where(login_codes.c.token_id == token_id))


def get(connection: Connection, token_id: int) -> TokenRow:
    """One token. Raises `NotFoundError`."""
    row = connection.execute(select(tokens).where(tokens.c.id == token_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no token {token_id}")
    return _row(row)


def page(connection: Connection, after: int, limit: int) -> list[TokenRow]:
    """Tokens by id after `after`, also expired and revoked ones."""
    rows = connection.execute(select(tokens).where(tokens.c.id > after).order_by(tokens.c.id).limit(limit))
    return [_row(row) for row in rows]


def _row(row: Row[Any]) -> TokenRow:
    return TokenRow(**{**row._mapping, "role": Role(row.role)})


def is_valid(now: float) -> ColumnElement[bool]:
    """The condition that a token is valid: neither revoked nor expired."""
    return and_(tokens.c.revoked_at.is_(None), or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now))


def holder(connection: Connection, token: str, now: float) -> Holder | None:
    """The holder of `token`; None if it is unknown, revoked or expired."""
    wanted = digest(token)
    row = connection.execute(select(tokens).where(tokens.c.digest == wanted, is_valid(now))).one_or_none()
    if row is None or not hmac.compare_digest(row.digest, wanted):
        return None
    return Holder(row.id, row.name, Role(row.role), row.expires_at)
