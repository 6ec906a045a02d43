"""Login codes are used once, and sessions end with their token."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from podium.db.access import login_sessions, tokens
from podium.db.access.tokens import Holder, Role
from podium.db.schema.database import Database

NOW = 1000.0


def _holder(connection: Connection, until: float | None = None) -> Holder:
    made = tokens.create(connection, "ann", Role.SUBMITTER, NOW, by="admin", until=until)
    holder = tokens.holder(connection, made.secret, NOW)
    assert holder is not None
    return holder


def test_code_is_used_once(database: Database) -> None:
    with database.write() as connection:
        holder = _holder(connection)
        code = login_sessions.new_code(connection, holder.token_id, NOW, NOW + 60)
        assert login_sessions.is_open(connection, code, NOW)
        assert login_sessions.redeem(connection, code, NOW) == holder
        assert not login_sessions.is_open(connection, code, NOW)
        assert login_sessions.redeem(connection, code, NOW) is None


def test_code_is_valid_until_it_expires(database: Database) -> None:
    with database.write() as connection:
        code = login_sessions.new_code(connection, _holder(connection).token_id, NOW, NOW + 60)
        assert login_sessions.is_open(connection, code, NOW + 59)
        assert not login_sessions.is_open(connection, code, NOW + 60)
        assert login_sessions.redeem(connection, code, NOW + 60) is None


def test_code_of_a_token_that_ended_is_refused_and_used_up(database: Database) -> None:
    with database.write() as connection:
        holder = _holder(connection, until=NOW + 10)
        code = login_sessions.new_code(connection, holder.token_id, NOW, NOW + 60)
        assert login_sessions.redeem(connection, code, NOW + 20) is None
        assert not login_sessions.is_open(connection, code, NOW)


def test_session_has_the_holder_of_its_token(database: Database) -> None:
    with database.write() as connection:
        holder = _holder(connection)
        session = login_sessions.create_session(connection, holder, NOW, 60)
        found = login_sessions.holder(connection, session.secret, NOW + 59)
        assert found == Holder(holder.token_id, "ann", Role.SUBMITTER, NOW + 60)
        assert login_sessions.holder(connection, session.secret, NOW + 60) is None
        assert login_sessions.holder(connection, "another", NOW) is None


@pytest.mark.parametrize(("until", "expires_at"), [(None, NOW + 60), (NOW + 10, NOW + 10), (NOW + 90, NOW + 60)])
def test_session_is_no_longer_than_its_token(database: Database, until: float | None, expires_at: float) -> None:
    with database.write() as connection:
        session = login_sessions.create_session(connection, _holder(connection, until), NOW, 60)
        assert session.expires_at == expires_at


def test_deleted_session_has_no_holder_and_others_remain(database: Database) -> None:
    with database.write() as connection:
        holder = _holder(connection)
        one, other = (login_sessions.create_session(connection, holder, NOW, 60) for _ in range(2))
        login_sessions.delete_session(connection, one.secret)
        assert login_sessions.holder(connection, one.secret, NOW) is None
        assert login_sessions.holder(connection, other.secret, NOW) is not None
