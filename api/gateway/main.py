"""Entry point of the gateway process, which serves predictions only, so that no other request delays them.

`python -P -m podium.api.gateway.main FILE NAME`, started by the supervisor. It listens on the gateway's port, which
several gateway processes share, and on a Unix socket of its own, through which the api process forwards predictions. It
loads no model: it parses rows, sends them to the ensemble workers, and combines their replies.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from podium.api.gateway import (
    health_routes,
    inference_protocol_routes,
    podium_format_prediction_routes,
    prometheus_metrics,
)
from podium.api.gateway.gateway_counter_totals import GatewayCounterTotals
from podium.api.gateway.per_minute_traffic_recorder import record_inputs, record_traffic
from podium.api.gateway.predictions_without_asgi import DirectPredictions
from podium.api.http import readiness_reporting_server, route_roles
from podium.api.http.authentication import Authenticator
from podium.api.http.base_app import service_app
from podium.api.http.connection_limits import allow_many_files
from podium.api.http.protocol_without_asgi import ProtocolWithoutAsgi
from podium.api.http.readiness_reporting_server import ReadyServer
from podium.db.schema.database import Database
from podium.db.schema.open_database import open_database
from podium.db.stores import ensemble_reader
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.gateway_metrics import GatewayCounters
from podium.ensemble.serving.tls_worker_connections import NodeTransport
from podium.ensemble.serving.unix_socket_transport import SocketTransport
from podium.ensemble.values.ensemble_snapshot import Traffic
from podium.sweep.runtime.certificate_pin import connecting_context
from podium.sweep.runtime.component_startup_and_heartbeats import (
    exit_with,
    on_wake,
    send_heartbeat,
    start_component,
    wake_component,
)
from podium.sweep.runtime.garbage_collection import collect_rarely
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError, PodiumError

REFRESH_S = 1.0
log = logging.getLogger("podium.gateway")


def create_app(
    settings: ServiceSettings, database: Database, limits: AggregatorLimits | None = None, name: str | None = None
) -> FastAPI:
    """The prediction routes of one service, in the gateway process `name`; None: in the first or only one."""
    own_name = name or settings.gateway_names[0]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        aggregator = app.state.aggregator = Aggregator(
            _transport(settings),
            on_death=lambda: wake_component(settings.runtime.wake_socket("host")),
            limits=limits or AggregatorLimits().divided(settings.gateways),
        )
        exchange = app.state.gateway_counter_totals = GatewayCounterTotals(
            settings, own_name, lambda: GatewayCounters.of(aggregator)
        )
        exchange.adopt(aggregator.counts)
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        on_wake(settings.runtime.wake_socket(own_name), lambda: _set(loop, changed))
        aggregator.update(_traffic(database))
        await exchange.start()
        work = [
            follow_database(database, aggregator, changed, app.state.authenticator),
            record_inputs(settings.data.recent_inputs(own_name), aggregator),
        ]
        if own_name == settings.gateway_names[0]:
            work.append(record_traffic(settings.data.traffic_history, exchange, aggregator))
        tasks = [asyncio.create_task(each) for each in work]
        yield
        for task in tasks:
            task.cancel()
        await exchange.stop()
        aggregator.close()

    app = service_app(settings, database, title="Podium gateway", lifespan=lifespan, openapi_url=None)
    for module in (health_routes, podium_format_prediction_routes, inference_protocol_routes, prometheus_metrics):
        app.include_router(module.router)
    route_roles.check(app.routes)
    app.routes_without_middleware = (podium_format_prediction_routes.PREDICT, *inference_protocol_routes.INFER)
    app.handler_without_asgi = DirectPredictions(app)
    return app


def _transport(settings: ServiceSettings) -> SocketTransport:
    """Connections to workers; in a cluster, also to those on other machines, which trust the key of the cluster."""
    if not settings.cluster:
        return SocketTransport()
    return NodeTransport(connecting_context(settings.data.cluster_certificate, settings.data.cluster_key))


def _set(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    loop.call_soon_threadsafe(changed.set)


def _traffic(database: Database) -> list[Traffic]:
    with database.read() as connection:
        return ensemble_reader.traffic(connection)


async def follow_database(
    database: Database,
    aggregator: Aggregator,
    changed: asyncio.Event,
    authenticator: Authenticator,
    refresh_s: float = REFRESH_S,
) -> None:
    """Keep the aggregator up to date with the database; while the database is unavailable, it keeps its last state.

    Reads the database at each wake-up, and at least every `refresh_s` seconds. A wake-up may also mean that a token
    was revoked.
    """
    while True:
        try:
            await asyncio.wait_for(changed.wait(), refresh_s)
            authenticator.clear_cache()
        except TimeoutError:
            pass
        changed.clear()
        try:
            aggregator.update(await asyncio.to_thread(_traffic, database))
        except DatabaseError:
            continue
        except Exception:  # otherwise the aggregator would never be updated again
            log.exception("cannot read the ensembles from the database; retrying")


def main() -> None:
    """Serve predictions until SIGTERM."""
    settings = start_component("gateway")
    try:
        database = open_database(settings)
        name = sys.argv[2] if len(sys.argv) > 2 else settings.gateway_names[0]
        app = create_app(settings, database, name=name)
        allow_many_files()
        collect_rarely()
        ReadyServer(readiness_reporting_server.config(app, settings, ProtocolWithoutAsgi), on_turn=send_heartbeat).run(
            sockets=_sockets(settings, name)
        )
        database.close()
    except PodiumError as error:
        exit_with(error)


def _sockets(settings: ServiceSettings, name: str) -> list[socket.socket]:
    """The gateway's port, and the Unix socket for the api process."""
    path = settings.runtime.gateway_socket(name)
    path.unlink(missing_ok=True)
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    unix.bind(str(path))
    unix.listen(readiness_reporting_server.BACKLOG)
    listen = readiness_reporting_server.tcp if settings.gateways == 1 else readiness_reporting_server.shared_tcp
    return [listen(settings.host, settings.gateway_port), unix]


if __name__ == "__main__":
    main()
