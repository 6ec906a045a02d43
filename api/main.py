"""The api process: `python -P -m api.main SETTINGS`, started by `serve`."""

from __future__ import annotations

import sys
import time

from api import listen
from api.app import create_app
from api.bounded import allow_many_files
from api.listen import ReadyServer
from db import tokens
from db.engine import Database
from sweep.errors import PodiumError
from sweep.part import begin


def main() -> None:
    """Serve REST until SIGTERM."""
    settings = begin()
    try:
        database = Database(settings.data.database)
        with database.write() as connection:
            token = settings.data.admin_token.read_text().strip()
            tokens.install_admin(connection, token, time.time())
        app = create_app(settings, database)
        allow_many_files()
        server = ReadyServer(listen.config(app, settings), app.state.feed.close)
        server.run(sockets=[listen.tcp(settings.host, settings.port)])
        database.close()
    except PodiumError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
