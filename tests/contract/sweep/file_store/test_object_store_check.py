"""The check of an object store at the start of a service and of a node, with credentials from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.file_store.object_store_check import ObjectStoreCheck
from podium.sweep.values.errors import ServiceError
from tests.contract.sweep.file_store.object_store_servers import EMULATORS, new_folder

SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@pytest.fixture
def bucket() -> Iterator[str]:
    with new_folder("s3") as url:
        yield url


@pytest.fixture(params=EMULATORS)
def folder(request: pytest.FixtureRequest) -> Iterator[str]:
    with new_folder(request.param) as url:
        yield url


def test_head_and_node_use_the_same_folder(folder: str) -> None:
    ObjectStoreCheck(folder, "", "one", is_head=True).run()
    ObjectStoreCheck(folder, "", "one", is_head=False).run()
    with pytest.raises(ServiceError, match="another service"):
        ObjectStoreCheck(folder, "", "two", is_head=True).run()


def test_missing_bucket_is_named(folder: str) -> None:
    missing = f"{folder.partition('://')[0]}://podium-no-such-bucket/x"
    with pytest.raises(ServiceError, match=rf"{missing}: cannot write .*: there is no such bucket or container"):
        ObjectStoreCheck(missing, "", "one", is_head=True).run()


def test_credentials_come_from_the_file(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "store.env"
    file.write_text("".join(f"{name}={os.environ[name]}\n" for name in SECRETS))
    file.chmod(0o600)
    for name in SECRETS:
        monkeypatch.delenv(name)
    with pytest.raises(ServiceError, match="credentials") as refused:
        ObjectStoreCheck(bucket, "", "one", is_head=True).run()
    assert "podium-test-secret" not in str(refused.value)
    ObjectStoreCheck(bucket, str(file), "one", is_head=True).run()
