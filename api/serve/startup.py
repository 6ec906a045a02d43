"""`podium serve`: checks the data directory, the database and the ports, then runs the supervisor."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from podium.api.serve import object_store_preparation, shared_imports, standby_requirements, temporary_file_cleanup
from podium.api.serve.database_subprocess import BackgroundProgram
from podium.api.serve.ports import check_port
from podium.api.serve.service_lock import all_services_locked, service_locked
from podium.api.serve.supervisor import Supervisor
from podium.db.schema import database_binding, postgres_url_source
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.ray_cluster.ray_gcs_storage import RayStore
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.device_detection import local_devices
from podium.sweep.runtime.disk_space_check import check_disk_space
from podium.sweep.runtime.filesystem_type import refuse_network
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.secret_variable_removal import withdraw
from podium.sweep.runtime.service_settings import CLUSTER_PORT, ServiceSettings
from podium.sweep.values.errors import NoDeviceError


def serve(settings: ServiceSettings, log: Callable[[str], None]) -> None:
    """Check the data directory, the database and the ports, then run the service.

    Raises `PodiumError` if one of them cannot be used, or if this machine has no device of the requested kind; then no
    component has been started, except Ray while the database is checked.
    """
    if settings.existing_cluster is None and not local_devices(settings.devices).count:
        raise NoDeviceError("this machine has no GPU; start with --devices auto or --devices cpu")
    data, url = settings.data, withdraw(postgres_url_source.VARIABLE)  # before anything is started
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of the script, or the current one: components import nothing from it
    os.umask(0o077)  # also of the components: the data directory is private to its user
    if not (url or settings.database_url_file or data.database_binding.exists()):
        refuse_network(data.root)
    data.prepare()
    locked = service_locked if settings.standby else all_services_locked  # a standby shares its directory
    with locked(data, "use it, or another --data-dir"):
        try:
            settings.runtime.prepare()
            settings, remembered = _with_database(settings, url)
            standby_requirements.check(settings)
            if not (settings.standby or data.services()):  # otherwise writers of other machines may have them
                temporary_file_cleanup.remove(data)
            for option, port in (("--port", settings.port), ("--gateway-port", settings.gateway_port)):
                check_port(settings.host, port, option)
            if not data.admin_token.exists():
                check_disk_space(data.root)  # the first start writes; later ones can serve reads from a full disk
            object_store_preparation.prepare(settings)
            if settings.existing_cluster is None:
                ray_connection_settings.ensure_token(data)
            if settings.cluster:
                for port in (settings.node_port,) if settings.existing_cluster else (settings.node_port, CLUSTER_PORT):
                    check_port(settings.cluster, port, "--cluster")
                from podium.sweep.runtime import cluster_certificates  # imports cryptography

                with FileLock(data.creation_lock):
                    cluster_certificates.ensure(data.cluster_certificate, data.cluster_key, settings.cluster)
                if settings.ray_tls:
                    cluster_certificates.ensure_ray(data, settings.cluster)
            supervisor = Supervisor(settings, log)
            supervisor.run(lambda is_stopping: _prepare(settings, remembered, log, is_stopping))
            store = RayStore.of(settings)
            if store is not None and not supervisor.restarting:
                store.remove()  # all trials have ended
        finally:
            shutil.rmtree(settings.runtime.root, ignore_errors=True)


def _with_database(settings: ServiceSettings, url: str) -> tuple[ServiceSettings, str]:
    """The settings with the file that has the URL of the database, and the file that the data directory remembers.

    `url`: that of the environment, which is remembered nowhere: its file is removed when the service stops. Raises
    `DatabaseError` if there is no valid URL in the file or the environment.
    """
    if url and not settings.database_url_file:
        file = settings.runtime.database_url
        write_atomic(file, postgres_url_source.checked(url, f"${postgres_url_source.VARIABLE}").encode(), mode=0o600)
        return _named(settings, file), ""
    settings.runtime.database_url.unlink(missing_ok=True)  # of a service that was killed
    given = Path(settings.database_url_file) if settings.database_url_file else None
    found = database_binding.url_file_to_start_with(settings.data, given)
    if found is None:
        return settings, ""
    postgres_url_source.database_url(found)
    return _named(settings, found), str(found)


def _named(settings: ServiceSettings, url_file: Path) -> ServiceSettings:
    """The settings with the file of the URL, and the name with which this start takes the lease of its database."""
    holder = standby_requirements.holder(settings.data)
    return replace(settings, database_url_file=str(url_file), holder=holder)


def _prepare(
    settings: ServiceSettings, remembered: str, log: Callable[[str], None], is_stopping: Callable[[], bool]
) -> None:
    """Migrate the database, import what the components share, and create the first token."""
    data = settings.data
    shared_imports.import_shared(shared_imports.DATABASE)
    migration = BackgroundProgram("schema.prepare_database", data.root, settings.database_url_file, remembered)
    shared_imports.import_shared(shared_imports.COMPONENTS, is_stopping)
    migration.answer(is_stopping)
    with FileLock(data.creation_lock):
        _create_token(data, log)


def _create_token(data: DataDirectory, log: Callable[[str], None]) -> None:
    if not data.admin_token.exists():
        token = "podium_" + secrets.token_urlsafe(32)
        write_atomic(data.admin_token, token.encode() + b"\n", mode=0o600)
        log(f"Admin token, shown only once: {token} (stored in {data.admin_token})")
