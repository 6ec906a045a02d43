"""`--artifact-url`, `--artifact-credentials`, and messages without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.file_store.object_store_url import ArtifactUrl, load_credentials, without_credentials
from podium.sweep.values.errors import MissingExtraError, ServiceError


@pytest.fixture
def clean_environment() -> Iterator[None]:
    """What a test sets is removed."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize(
    ("text", "protocol", "path"),
    [
        ("s3://bucket", "s3", "bucket"),
        ("s3://bucket/team-a/podium/", "s3", "bucket/team-a/podium"),
        ("gs://bucket/x.y_z", "gs", "bucket/x.y_z"),
        ("az://container/folder", "az", "container/folder"),
        ("file:///mnt/shared files", "file", "/mnt/shared files"),
    ],
)
def test_url_is_parsed(text: str, protocol: str, path: str) -> None:
    assert ArtifactUrl.parse(text) == ArtifactUrl(protocol, path)
    assert str(ArtifactUrl.parse(text)) == text.rstrip("/")


@pytest.mark.parametrize(
    "text",
    [
        "", "bucket", "s3://", "s3:bucket", "http://host/folder", "memory://x", "file://relative", "file:///a/../b",
        "s3://bucket/../other", "s3://bucket//x", "s3://bucket/a*", "s3://key:hush-hush@bucket", "s3://bucket?x=hush-hush",
        "az://container/x#hush-hush",
    ],
)  # fmt: skip
def test_other_url_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ServiceError, match="--artifact-url") as refused:
        ArtifactUrl.parse(text)
    assert "hush" not in str(refused.value)


def test_missing_package_is_named_by_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"podium\[azure\]"):
        ArtifactUrl.parse("az://container").open()


def test_credentials_are_read_from_a_private_file(tmp_path: Path, clean_environment: None) -> None:
    file = tmp_path / "credentials"
    file.write_text("# a comment\n\nAWS_ACCESS_KEY_ID=one\nexport AWS_SECRET_ACCESS_KEY='two = 2'\n")
    file.chmod(0o600)
    load_credentials(file)
    assert os.environ["AWS_ACCESS_KEY_ID"] == "one" and os.environ["AWS_SECRET_ACCESS_KEY"] == "two = 2"


def test_file_of_credentials_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("AWS_ACCESS_KEY_ID=one\n")
    file.chmod(0o640)
    with pytest.raises(ServiceError, match="chmod 600"):
        load_credentials(file)


def test_wrong_line_of_credentials_is_named_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("A=1\nhush-hush\n")
    file.chmod(0o600)
    with pytest.raises(ServiceError, match="line 2: write NAME=VALUE") as refused:
        load_credentials(file)
    assert "hush" not in str(refused.value)


def test_missing_file_of_credentials_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="missing: No such file"):
        load_credentials(tmp_path / "missing")


def test_messages_have_no_secrets() -> None:
    variables = {"AWS_SECRET_ACCESS_KEY": "abc/123", "AWS_REGION": "us-east-1", "SHORT_KEY": "us"}
    message = "https://user:pw@host/x?sig=1&se=2 refused abc/123 in us-east-1"
    assert without_credentials(message, variables) == "https://***host/x*** refused *** in us-east-1"
