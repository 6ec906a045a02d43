"""The gateway process: predictions only, so that nothing else can make an answer late.

`python -P -m podium.api.gateway.main SETTINGS`, started by `serve`. It listens on its own port and on a Unix socket,
through which the api hands predictions on. It never loads a model: it reads rows, asks the workers, and joins their
answers.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from podium.api.gateway import inference_protocol, predictions, prometheus_metrics
from podium.api.http import problem_details, route_roles, uvicorn_server
from podium.api.http.authentication import Doorkeeper
from podium.api.http.connection_limits import allow_many_files
from podium.api.http.host_names import HostNames
from podium.api.http.request_guard import Guarded
from podium.api.http.route_context import ServiceContext
from podium.api.http.uvicorn_server import ReadyServer
from podium.db.schema.engine import Database
from podium.db.stores import ensembles
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.values.ensemble_spec import Traffic
from podium.sweep.runtime.component import begin, on_wake, wake
from podium.sweep.runtime.settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError, PodiumError

REFRESH_S = 1.0
log = logging.getLogger("podium.gateway")


def create_app(settings: ServiceSettings, database: Database) -> FastAPI:
    """The prediction routes of one service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        aggregator = app.state.aggregator = Aggregator(on_death=lambda: wake(settings.runtime.wake_socket("host")))
        news = asyncio.Event()
        loop = asyncio.get_running_loop()
        on_wake(settings.runtime.wake_socket("gateway"), lambda: _set(loop, news))
        aggregator.update(_traffic(database))
        follower = asyncio.create_task(_follow(database, aggregator, news, app.state.doorkeeper))
        yield
        follower.cancel()
        aggregator.close()

    app = Guarded(title="Podium gateway", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.service = ServiceContext(settings, database)
    app.state.doorkeeper = Doorkeeper(database, settings.session_cookie)
    app.host_names = HostNames(settings.allowed_hosts)
    problem_details.install(app)
    app.add_api_route("/healthz", _healthz, methods=["GET"])
    for part in (predictions, inference_protocol, prometheus_metrics):
        app.include_router(part.router)
    route_roles.check(app.routes)
    return app


def _set(loop: asyncio.AbstractEventLoop, news: asyncio.Event) -> None:
    loop.call_soon_threadsafe(news.set)


async def _healthz() -> dict[str, str]:
    return {"status": "ok"}


def _traffic(database: Database) -> list[Traffic]:
    with database.read() as connection:
        return ensembles.traffic(connection)


async def _follow(database: Database, aggregator: Aggregator, news: asyncio.Event, doorkeeper: Doorkeeper) -> None:
    """Keep the aggregator at what the host wrote last; with no database, at what it knew.

    News may also be that a token was revoked.
    """
    while True:
        try:
            await asyncio.wait_for(news.wait(), REFRESH_S)
            doorkeeper.forget_all()
        except TimeoutError:
            pass
        news.clear()
        try:
            aggregator.update(await asyncio.to_thread(_traffic, database))
        except DatabaseError:
            continue
        except Exception:  # else everybody would be asked as of now for ever
            log.exception("cannot follow what the host wrote; trying again")


def main() -> None:
    """Serve predictions until SIGTERM."""
    settings = begin()
    try:
        database = Database(settings.data.database)
        app = create_app(settings, database)
        allow_many_files()
        gc.collect()
        gc.freeze()  # a full collection would look at all of the imported code, 70 ms in which nobody is answered
        ReadyServer(uvicorn_server.config(app, settings)).run(sockets=_sockets(settings))
        database.close()
    except PodiumError as error:
        sys.exit(str(error))


def _sockets(settings: ServiceSettings) -> list[socket.socket]:
    """The gateway's port, and the Unix socket for the api."""
    path = settings.runtime.gateway_socket
    path.unlink(missing_ok=True)
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    unix.bind(str(path))
    unix.listen(uvicorn_server.MAX_ACCEPTED)
    return [uvicorn_server.tcp(settings.host, settings.gateway_port), unix]


if __name__ == "__main__":
    main()
