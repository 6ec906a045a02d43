"""Tokens: roles, states, the admin token of a data directory, and what a revocation deletes."""

from __future__ import annotations

import itertools

import pytest
from sqlalchemy import func, select

from podium.db.access import login_sessions, tokens
from podium.db.access.tokens import SERVE, Role
from podium.db.schema.database import Database
from podium.db.schema.tables import login_codes, sessions
from podium.sweep.values.errors import ConflictError, NotFoundError

NOW = 1000.0
LADDER = (Role.VIEWER, Role.SUBMITTER, Role.ADMIN)


def test_each_role_of_people_includes_the_lower_ones() -> None:
    covered = {(own, needed) for own, needed in itertools.product(Role, repeat=2) if own.covers(needed)}
    assert covered == {(own, low) for at, own in enumerate(LADDER) for low in LADDER[: at + 1]} | {
        (Role.NODE, Role.NODE)
    }


def test_only_the_hash_of_a_secret_is_stored(database: Database) -> None:
    with database.write() as connection:
        made = tokens.create(connection, "ann", Role.VIEWER, NOW, by="admin", until=None)
        (stored,) = tokens.page(connection, 0, 10)
    assert made.secret.startswith("podium_") and stored.digest == tokens.digest(made.secret)
    assert made.secret not in repr(stored)


def test_token_is_valid_until_it_expires(database: Database) -> None:
    with database.write() as connection:
        made = tokens.create(connection, "ann", Role.SUBMITTER, NOW, by="admin", until=NOW + 60)
        held = [tokens.holder(connection, made.secret, NOW + after) for after in (0, 59, 60)]
        assert held[0] is not None and (held[0].name, held[0].role) == ("ann", Role.SUBMITTER)
        assert held[1] is not None and held[2] is None
        assert [made.row.state(NOW + after) for after in (0, 60)] == ["valid", "expired"]
        assert tokens.holder(connection, made.secret + "x", NOW) is None


def test_name_is_free_again_after_the_token_expired_or_was_revoked(database: Database) -> None:
    with database.write() as connection:
        first = tokens.create(connection, "ann", Role.VIEWER, NOW, by="admin", until=NOW + 60)
        with pytest.raises(ConflictError, match=f"id {first.row.id}"):
            tokens.create(connection, "ann", Role.VIEWER, NOW + 59, by="admin", until=None)
        second = tokens.create(connection, "ann", Role.VIEWER, NOW + 60, by="admin", until=None)
        tokens.revoke(connection, second.row.id, "admin", NOW + 61)
        third = tokens.create(connection, "ann", Role.VIEWER, NOW + 62, by="admin", until=None)
        assert len({first.row.id, second.row.id, third.row.id}) == 3


def test_known_token_is_not_changed(database: Database) -> None:
    with database.write() as connection:
        known = tokens.add(connection, "ann", Role.VIEWER, "secret", NOW)
        assert tokens.add(connection, "bob", Role.ADMIN, "secret", NOW + 1) == known
        assert (tokens.get(connection, known).name, tokens.get(connection, known).role) == ("ann", Role.VIEWER)


def test_revocation_deletes_sessions_and_codes_and_is_recorded_once(database: Database) -> None:
    with database.write() as connection:
        made = tokens.create(connection, "ann", Role.VIEWER, NOW, by="admin", until=None)
        holder = tokens.holder(connection, made.secret, NOW)
        assert holder is not None
        login_sessions.create_session(connection, holder, NOW, 60)
        login_sessions.new_code(connection, made.row.id, NOW, NOW + 60)
        tokens.revoke(connection, made.row.id, "bob", NOW + 1)
        tokens.revoke(connection, made.row.id, "carl", NOW + 2)
        row = tokens.get(connection, made.row.id)
        assert (row.revoked_by, row.revoked_at, row.state(NOW + 2)) == ("bob", NOW + 1, "revoked")
        assert tokens.holder(connection, made.secret, NOW + 1) is None
        counts = [
            connection.execute(select(func.count()).select_from(table)).scalar() for table in (sessions, login_codes)
        ]
        assert counts == [0, 0]


def test_data_directory_has_one_admin_token_of_its_service(database: Database) -> None:
    with database.write() as connection:
        other = tokens.create(connection, "ann", Role.ADMIN, NOW, by="admin", until=None)
        for at, secret in enumerate(("first", "second", "second")):
            tokens.install_admin(connection, secret, NOW + at)
        assert tokens.holder(connection, "first", NOW + 3) is None
        installed = tokens.holder(connection, "second", NOW + 3)
        assert installed is not None and installed.role is Role.ADMIN
        assert tokens.get(connection, installed.token_id).created_by == SERVE
        assert tokens.holder(connection, other.secret, NOW + 3) is not None


def test_unknown_token_is_not_found(database: Database) -> None:
    with database.write() as connection:
        for use in (tokens.get, lambda connection, token_id: tokens.revoke(connection, token_id, "ann", NOW)):
            with pytest.raises(NotFoundError, match="no token 7"):
                use(connection, 7)
