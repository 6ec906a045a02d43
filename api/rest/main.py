"""Entry point of the api process: `python -P -m podium.api.rest.main FILE`, started by the supervisor."""

from __future__ import annotations

import time

from podium.api.http import readiness_reporting_server
from podium.api.http.connection_limits import allow_many_files
from podium.api.http.readiness_reporting_server import ReadyServer
from podium.api.http.thread_pool_liveness import ThreadPoolWatch
from podium.api.rest.app import create_app
from podium.db.access import tokens
from podium.db.schema.open_database import open_database
from podium.sweep.runtime.component_startup_and_heartbeats import exit_with, send_heartbeat, start_component
from podium.sweep.runtime.garbage_collection import collect_rarely
from podium.sweep.values.errors import PodiumError


def main() -> None:
    """Serve the REST API and the dashboard until SIGTERM."""
    settings = start_component("api")
    try:
        database = open_database(settings)
        with database.write() as connection:
            token = settings.data.admin_token.read_text().strip()
            tokens.install_admin(connection, token, time.time())
        app = create_app(settings, database)
        allow_many_files()
        collect_rarely()
        watch = ThreadPoolWatch(send_heartbeat)
        server = ReadyServer(readiness_reporting_server.config(app, settings), app.state.feed.close, watch)
        server.run(sockets=[readiness_reporting_server.tcp(settings.host, settings.port)])
        database.close()
    except PodiumError as error:
        exit_with(error)


if __name__ == "__main__":
    main()
