"""Prepares the object store of a service before it starts; the `podium serve` process."""

from __future__ import annotations

import secrets

from filelock import FileLock

from podium.sweep.file_store.object_store_check import ObjectStoreCheck
from podium.sweep.file_store.recorded_object_store_config import ObjectStoreConfig, recorded
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import ServiceError


def prepare(settings: ServiceSettings) -> None:
    """Check that the object store can be used, and record it in the data directory.

    Several services of a data directory may start for the first time at the same moment, and have one store id. Raises
    `ServiceError`, also if files of this data directory are in another store, where nobody would find them.
    """
    with FileLock(settings.data.creation_lock):
        _prepare(settings)


def _prepare(settings: ServiceSettings) -> None:
    data = settings.data
    before = recorded(data)
    if before is not None and before.url != settings.artifact_url:
        raise ServiceError(
            f"files of this data directory are in {before.url}: start with --cluster ADDRESS --artifact-url "
            f"{before.url}; if you have moved them, change the URL in {data.artifact_store}, or remove this file if "
            "all are in the data directory"
        )
    if not settings.artifact_url:
        return
    if not settings.cluster:
        raise ServiceError("--artifact-url needs --cluster ADDRESS: it is for the files of nodes on other machines")
    store_id = secrets.token_hex(8) if before is None else before.store_id
    ObjectStoreCheck(settings.artifact_url, settings.artifact_credentials, store_id, is_head=True).run()
    ObjectStoreConfig(settings.artifact_url, store_id, str(settings.runtime.artifacts_socket)).save(data)
