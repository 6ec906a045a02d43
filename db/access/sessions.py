"""Logging in with a browser: one-time codes, and the sessions that they begin; the database knows only SHA-256; api."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Table, delete, insert, select, update

from podium.db.access.tokens import Holder, Role, digest, good
from podium.db.schema.tables import login_codes, sessions, tokens

MOST = 100  # codes, and sessions, of one token


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun; `secret` is told once, to the browser."""

    secret: str
    holder: Holder
    expires_at: float


def new_code(connection: Connection, token_id: int, now: float, expires_at: float) -> str:
    """A code that begins one session of a token's holder. Codes that are over are swept out on the way."""
    connection.execute(delete(login_codes).where(login_codes.c.expires_at <= now))
    code = secrets.token_urlsafe(32)
    values = {"digest": digest(code), "token_id": token_id, "created_at": now, "expires_at": expires_at}
    connection.execute(insert(login_codes).values(values))
    _keep_newest(connection, login_codes.c.digest, login_codes, token_id)
    return code


def is_open(connection: Connection, code: str, now: float) -> bool:
    """Whether a code would begin a session now, its token apart."""
    mine = login_codes.c.digest == digest(code)
    found = select(mine).where(mine, login_codes.c.used_at.is_(None), login_codes.c.expires_at > now)
    return connection.execute(found).first() is not None


def redeem(connection: Connection, code: str, now: float) -> Holder | None:
    """Whom a code lets in, the first time; None when it is unknown, used, or over, or its token is."""
    used = connection.execute(
        update(login_codes)
        .where(login_codes.c.digest == digest(code), login_codes.c.used_at.is_(None), login_codes.c.expires_at > now)
        .values(used_at=now)
        .returning(login_codes.c.token_id)
    ).scalar_one_or_none()
    if used is None:
        return None
    row = connection.execute(select(tokens).where(tokens.c.id == used, good(now))).one_or_none()
    return None if row is None else Holder(row.id, row.name, Role(row.role), row.expires_at)


def begin(connection: Connection, holder: Holder, now: float, longest_s: float) -> NewSession:
    """A session of `holder`, no longer than the token holds. Sessions that are over are swept out on the way."""
    connection.execute(delete(sessions).where(sessions.c.expires_at <= now))
    expires_at = min(now + longest_s, holder.expires_at or now + longest_s)
    secret = secrets.token_urlsafe(32)
    values = {"digest": digest(secret), "token_id": holder.token_id, "created_at": now, "expires_at": expires_at}
    connection.execute(insert(sessions).values(values))
    _keep_newest(connection, sessions.c.digest, sessions, holder.token_id)
    return NewSession(secret, holder, expires_at)


def _keep_newest(connection: Connection, digest_of: Column[str], table: Table, token_id: int) -> None:
    """Of one token there are at most so many: who makes more of them loses the oldest."""
    older = (
        select(digest_of)
        .where(table.c.token_id == token_id)
        .order_by(table.c.created_at.desc(), digest_of)
        .offset(MOST)
        .limit(-1)
    )
    connection.execute(delete(table).where(digest_of.in_(older)))


def holder(connection: Connection, secret: str, now: float) -> Holder | None:
    """Whom a session speaks for, and until when; None when it or its token is unknown or over."""
    row = connection.execute(
        select(tokens.c.id, tokens.c.name, tokens.c.role, sessions.c.expires_at)
        .join(sessions, sessions.c.token_id == tokens.c.id)
        .where(sessions.c.digest == digest(secret), sessions.c.expires_at > now, good(now))
    ).one_or_none()
    return None if row is None else Holder(row.id, row.name, Role(row.role), row.expires_at)


def end(connection: Connection, secret: str) -> None:
    """Log out; nothing for a session that is over."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest(secret)))
