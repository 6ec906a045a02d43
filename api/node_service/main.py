"""Entry point of the nodes process: `python -P -m podium.api.node_service.main FILE`, started by the supervisor.

Only with `podium serve --cluster`.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from fastapi import FastAPI

from podium.api.http import readiness_reporting_server, route_roles
from podium.api.http.base_app import service_app
from podium.api.http.connection_limits import allow_many_files
from podium.api.http.readiness_reporting_server import ReadyServer
from podium.api.node_service import join_routes, node_facing_file_routes
from podium.api.node_service.dataset_arrays_for_nodes import DatasetPreparation
from podium.api.node_service.file_hash_cache import FileHashes
from podium.db.schema.database import Database
from podium.db.schema.open_database import open_database
from podium.sweep.file_store.local_store import LocalFileStore
from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.file_store.object_store_downloader import ArtifactCache
from podium.sweep.file_store.object_store_fetch_server import ArtifactServer
from podium.sweep.file_store.object_store_url import ArtifactUrl, load_credentials
from podium.sweep.file_store.resumable_uploads import ResumableUploads
from podium.sweep.runtime.component_startup_and_heartbeats import exit_with, send_heartbeat, start_component
from podium.sweep.runtime.garbage_collection import collect_rarely
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import PodiumError

STORE_PATIENCE_S = 20.0  # for which a request to the object store is tried again


def create_app(settings: ServiceSettings, database: Database) -> FastAPI:
    """The routes for nodes."""
    app = service_app(settings, database, title="Podium nodes", openapi_url=None)
    app.state.store = LocalFileStore(settings.data.root)
    app.state.uploads = ResumableUploads(app.state.store, settings.data.uploads)
    app.state.hashes = FileHashes()
    app.state.datasets = DatasetPreparation()
    for module in (join_routes, node_facing_file_routes):
        app.include_router(module.router)
    route_roles.check(app.routes)
    return app


def main() -> None:
    """Serve nodes until SIGTERM."""
    settings = start_component("nodes")
    own = replace(
        settings, host=settings.cluster, port=settings.node_port, proxies=(),
        allowed_hosts=(settings.cluster, *settings.allowed_hosts),
        tls_cert=str(settings.data.cluster_certificate), tls_key=str(settings.data.cluster_key),
    )  # fmt: skip
    try:
        database = open_database(settings)
        app = create_app(own, database)
        if settings.artifact_url:
            _serve_artifacts(settings)
        allow_many_files()
        collect_rarely()
        server = ReadyServer(readiness_reporting_server.config(app, own), on_turn=send_heartbeat)
        server.run(sockets=[readiness_reporting_server.tcp(own.host, own.port)])
        database.close()
    except PodiumError as error:
        exit_with(error)


def _serve_artifacts(settings: ServiceSettings) -> None:
    """Let the other components fetch files from the object store."""
    if settings.artifact_credentials:
        load_credentials(Path(settings.artifact_credentials))
    store = ObjectFileStore.open(ArtifactUrl.parse(settings.artifact_url), patience_s=STORE_PATIENCE_S)
    server = ArtifactServer(settings.runtime.artifacts_socket, ArtifactCache(store, settings.data))
    threading.Thread(target=server.serve_forever, name="artifacts", daemon=True).start()


if __name__ == "__main__":
    main()
