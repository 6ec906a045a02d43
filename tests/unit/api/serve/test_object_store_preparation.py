"""The object store of a service at its start: what is refused, and what is recorded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from podium.api.serve import object_store_preparation
from podium.sweep.file_store.object_store_check import MARK, ObjectStoreCheck, check
from podium.sweep.file_store.recorded_object_store_config import ObjectStoreConfig, recorded
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import PodiumError, ServiceError


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    (tmp_path / "data").mkdir()
    return ServiceSettings(str(tmp_path / "data"), str(tmp_path / "run"), cluster="10.0.0.5")


def test_store_is_recorded_and_marked(settings: ServiceSettings, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/objects"
    with_store = replace(settings, artifact_url=url)
    for _ in range(2):  # a restart
        object_store_preparation.prepare(with_store)
    record = recorded(settings.data)
    assert record is not None and record.url == url
    assert (tmp_path / "objects" / MARK).read_text() == record.store_id
    assert [path.name for path in (tmp_path / "objects").rglob("*")] == [MARK], "no trace of the check"


def test_first_starts_at_the_same_moment_have_one_store_id(settings: ServiceSettings, tmp_path: Path) -> None:
    with_store = replace(settings, artifact_url=f"file://{tmp_path}/objects")
    with ThreadPoolExecutor() as threads:
        list(threads.map(object_store_preparation.prepare, [with_store] * 2))
    record = recorded(settings.data)
    assert record is not None and (tmp_path / "objects" / MARK).read_text() == record.store_id


def test_start_without_the_store_that_has_the_files_is_refused(settings: ServiceSettings) -> None:
    ObjectStoreConfig("s3://bucket/x", "id", "").save(settings.data)
    for other in ("", "s3://bucket/y"):
        with pytest.raises(ServiceError, match="--artifact-url s3://bucket/x"):
            object_store_preparation.prepare(replace(settings, artifact_url=other))


def test_store_without_a_cluster_is_refused(settings: ServiceSettings) -> None:
    with pytest.raises(ServiceError, match="needs --cluster"):
        object_store_preparation.prepare(replace(settings, artifact_url="file:///x", cluster=""))
    assert recorded(settings.data) is None


def test_store_that_cannot_be_written_is_refused(settings: ServiceSettings, tmp_path: Path) -> None:
    (tmp_path / "objects").write_text("a file")
    with pytest.raises(ServiceError, match="objects: cannot list"):
        object_store_preparation.prepare(replace(settings, artifact_url=f"file://{tmp_path}/objects"))
    assert recorded(settings.data) is None


def test_folder_of_another_service_is_refused(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/objects"
    check(ObjectStoreCheck(url, "", "first", is_head=True))
    with pytest.raises(PodiumError, match="another service"):
        check(ObjectStoreCheck(url, "", "second", is_head=True))
    check(ObjectStoreCheck(url, "", "first", is_head=False))


def test_node_that_reaches_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PodiumError, match="not the folder of the head"):
        check(ObjectStoreCheck(f"file://{tmp_path}/elsewhere", "", "first", is_head=False))
    assert not (tmp_path / "elsewhere" / MARK).exists()


def test_check_says_which_package_is_missing() -> None:
    with pytest.raises(ServiceError, match=r"podium\[gcs\]"):
        ObjectStoreCheck("gs://bucket/x", "", "id", is_head=True).run()
