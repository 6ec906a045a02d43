"""Access tokens: the database knows only their SHA-256."""

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
SERVE = "serve"  # who made the token of the data directory


class Role(StrEnum):
    """What a token's holder may do; each role may do all that the ones before it may."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


TokenState = Literal["valid", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token speaks for."""

    token_id: int
    name: str
    role: Role
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as the database knows it."""

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
        """Whether it holds."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made; `secret` is told once."""

    secret: str
    row: TokenRow


def new_token() -> str:
    """A fresh secret: 256 bits, with a prefix by which scanners find a leaked one."""
    return _PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What the database keeps of a token."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def add(
    connection: Connection, name: str, role: Role, token: str, at: float, *, by: str = "", until: float | None = None
) -> int:
    """Let the holder of `token` in, `until` then; its id. A token that is known already stays as it is."""
    known = connection.execute(select(tokens.c.id).where(tokens.c.digest == digest(token))).scalar_one_or_none()
    if known is not None:
        return int(known)
    values = {"name": name, "role": role.value, "digest": digest(token), "created_at": at, "created_by": by}
    statement = insert(tokens).values(values | {"expires_at": until}).returning(tokens.c.id)
    return int(connection.execute(statement).scalar_one())


def create(connection: Connection, name: str, role: Role, at: float, *, by: str, until: float | None) -> NewToken:
    """A token that somebody asked for. Raises `ConflictError` while another of that name is valid."""
    taken = connection.execute(select(tokens.c.id).where(tokens.c.name == name, good(at))).first()
    if taken is not None:
        raise ConflictError(
            f"there is a valid token {name!r} already, with the id {taken.id}; revoke it, or choose another name"
        )
    secret = new_token()
    return NewToken(secret, get(connection, add(connection, name, role, secret, at, by=by, until=until)))


def install_admin(connection: Connection, token: str, at: float) -> None:
    """Let in whoever reads the data directory, by `token` alone: what `serve` had made before is revoked."""
    known = add(connection, "admin", Role.ADMIN, token, at, by=SERVE)
    earlier = select(tokens.c.id).where(
        tokens.c.created_by == SERVE, tokens.c.id != known, tokens.c.revoked_at.is_(None)
    )
    for token_id in connection.execute(earlier).scalars().all():
        revoke(connection, token_id, SERVE, at)


def revoke(connection: Connection, token_id: int, by: str, at: float) -> None:
    """Let its holder in no more, by its sessions and links neither. Raises `NotFoundError`."""
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
    """Tokens by id, from the one behind `after` on; those that are over, too."""
    rows = connection.execute(select(tokens).where(tokens.c.id > after).order_by(tokens.c.id).limit(limit))
    return [_row(row) for row in rows]


def _row(row: Row[Any]) -> TokenRow:
    return TokenRow(**{**row._mapping, "role": Role(row.role)})


def good(now: float) -> ColumnElement[bool]:
    """The condition that a token holds: neither revoked nor expired."""
    return and_(tokens.c.revoked_at.is_(None), or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now))


def holder(connection: Connection, token: str, now: float) -> Holder | None:
    """Whom `token` speaks for; None when it is unknown, revoked or expired."""
    wanted = digest(token)
    row = connection.execute(select(tokens).where(tokens.c.digest == wanted, good(now))).one_or_none()
    if row is None or not hmac.compare_digest(row.digest, wanted):
        return None
    return Holder(row.id, row.name, Role(row.role), row.expires_at)
