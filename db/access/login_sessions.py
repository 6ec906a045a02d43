"""Browser logins: one-time codes and sessions, stored as SHA-256; api and gateway."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Table, delete, insert, select, update

from podium.db.access.tokens import Holder, Role, digest, is_valid
from podium.db.schema.tables import login_codes, sessions, tokens

MAX_SESSIONS = 100  # codes, and sessions, of one token


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session; `secret` is sent once, to the browser."""

    secret: str
    holder: Holder
    expires_at: float


def new_code(connection: Connection, token_id: int, now: float, expires_at: float) -> str:
    """Create a one-time login code for a token; deletes expired codes."""
    connection.execute(delete(login_codes).where(login_codes.c.expires_at <= now))
    code = secrets.token_urlsafe(32)
    values = {"digest": digest(code), "token_id": token_id, "created_at": now, "expires_at": expires_at}
    connection.execute(insert(login_codes).values(values))
    _keep_newest(connection, login_codes.c.digest, login_codes, token_id)
    return code


def is_open(connection: Connection, code: str, now: float) -> bool:
    """Whether a code is unused and not expired; its token is not checked."""
    mine = login_codes.c.digest == digest(code)
    found = select(mine).where(mine, login_codes.c.used_at.is_(None), login_codes.c.expires_at > now)
    return connection.execute(found).first() is not None


def redeem(connection: Connection, code: str, now: float) -> Holder | None:
    """Use a code once and return its holder; None if the code or its token is unknown, used, expired or revoked."""
    used = connection.execute(
        update(login_codes)
        .where(login_codes.c.digest == digest(code), login_codes.c.used_at.is_(None), login_codes.c.expires_at > now)
        .values(used_at=now)
        .returning(login_codes.c.token_id)
    ).scalar_one_or_none()
    if used is None:
        return None
    row = connection.execute(select(tokens).where(tokens.c.id == used, is_valid(now))).one_or_none()
    return None if row is None else Holder(row.id, row.name, Role(row.role), row.expires_at)


def create_session(connection: Connection, holder: Holder, now: float, longest_s: float) -> NewSession:
    """Create a session, at most as long as the token is valid; deletes expired sessions."""
    connection.execute(delete(sessions).where(sessions.c.expires_at <= now))
    expires_at = min(now + longest_s, holder.expires_at or now + longest_s)
    secret = secrets.token_urlsafe(32)
    values = {"digest": digest(secret), "token_id": holder.token_id, "created_at": now, "expires_at": expires_at}
    connection.execute(insert(sessions).values(values))
    _keep_newest(connection, sessions.c.digest, sessions, holder.token_id)
    return NewSession(secret, holder, expires_at)


def _keep_newest(connection: Connection, digest_of: Column[str], table: Table, token_id: int) -> None:
    """Keep at most MOST rows of a token; the oldest are deleted."""
    older = (
        select(digest_of)
        .where(table.c.token_id == token_id)
        .order_by(table.c.created_at.desc(), digest_of)
        .offset(MAX_SESSIONS)
    )
    connection.execute(delete(table).where(digest_of.in_(older)))


def holder(connection: Connection, secret: str, now: float) -> Holder | None:
    """The holder of a session; None if the session or its token is unknown, expired or revoked."""
    row = connection.execute(
        select(tokens.c.id, tokens.c.name, tokens.c.role, sessions.c.expires_at)
        .join(sessions, sessions.c.token_id == tokens.c.id)
        .where(sessions.c.digest == digest(secret), sessions.c.expires_at > now, is_valid(now))
    ).one_or_none()
    return None if row is None else Holder(row.id, row.name, Role(row.role), row.expires_at)


def delete_session(connection: Connection, secret: str) -> None:
    """Delete a session."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest(secret)))
