"""Access tokens: the database knows only their SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Connection, and_, insert, or_, select

from db.tables import tokens

_PREFIX = "podium_"


class Role(StrEnum):
    """What a token's holder may do; each role may do all that the ones before it may."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token speaks for."""

    token_id: int
    name: str
    role: Role
    expires_at: float | None = None


def new_token() -> str:
    """A fresh secret: 256 bits, with a prefix by which scanners find a leaked one."""
    return _PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What the database keeps of a token."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def add(connection: Connection, name: str, role: Role, token: str, at: float) -> None:
    """Let the holder of `token` in; a token that is known already stays as it is."""
    known = connection.execute(select(tokens.c.id).where(tokens.c.digest == digest(token))).one_or_none()
    if known is None:
        values = {"name": name, "role": role.value, "digest": digest(token), "created_at": at}
        connection.execute(insert(tokens).values(values))


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
