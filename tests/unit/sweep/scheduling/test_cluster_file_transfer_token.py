"""The token of the nodes of a Ray cluster: made once, and again if it was revoked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.sweep.scheduling import cluster_file_transfer_token
from podium.sweep.values.errors import ServiceError
from tests.service_rig import ServiceRig


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceRig]:
    rig = ServiceRig(tmp_path)
    yield rig
    rig.close()


def test_token_is_made_once_and_private(service: ServiceRig) -> None:
    data = service.settings.data
    token = cluster_file_transfer_token.ensure(service.database, data, 10.0, 1)
    assert cluster_file_transfer_token.ensure(service.database, data, 20.0, 1) == token
    assert data.node_token.stat().st_mode & 0o777 == 0o600
    with service.database.read() as connection:
        holder = tokens.holder(connection, token, 20.0)
    assert holder is not None and holder.role is Role.NODE


def test_revoked_token_is_replaced(service: ServiceRig) -> None:
    data = service.settings.data
    token = cluster_file_transfer_token.ensure(service.database, data, 10.0, 1)
    with service.database.write() as connection:
        holder = tokens.holder(connection, token, 10.0)
        assert holder is not None
        tokens.revoke(connection, holder.token_id, "admin", 11.0)
    assert cluster_file_transfer_token.ensure(service.database, data, 12.0, 1) != token


def test_token_that_cannot_be_written_is_not_recorded(service: ServiceRig) -> None:
    data = service.settings.data
    data.node_token.mkdir(parents=True)
    with pytest.raises(ServiceError, match="cannot write"):
        cluster_file_transfer_token.ensure(service.database, data, 10.0, 1)
    with service.database.read() as connection:
        assert cluster_file_transfer_token.NAME not in {each.name for each in tokens.page(connection, 0, 100)}
