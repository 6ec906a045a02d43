"""The gateway process: predictions only, so that nothing else can make an answer late.

`python -P -m api.gateway SETTINGS`, started by `serve`. It listens on its own port and on a Unix socket, through
which the api hands predictions on. It never loads a model: it reads rows, asks the workers, and joins their answers.
"""

from __future__ import annotations

import asyncio
import io
import math
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Annotated, Any

import numpy as np
import orjson
import uvicorn
from fastapi import FastAPI, Query, Request, Response
from numpy.lib import format as npy
from numpy.typing import NDArray

from api import problems
from api.auth import Doorkeeper, viewer
from api.ensembles import MAX_PREDICT_BYTES
from api.listen import ReadyServer
from api.service import RowId, ServiceContext, body_within, context
from db import ensembles
from db.engine import Database
from ensemble import combine
from ensemble.aggregator import Aggregator, Outcome, Prediction
from ensemble.spec import SERVING, Snapshot
from sweep.errors import BadRequestError, DatabaseError, EnsembleError, NotFoundError, PodiumError
from sweep.part import begin, on_wake
from sweep.settings import ServiceSettings

REFRESH_S = 1.0
EVALUATION_MS = 60_000.0
_STATUS = {
    Outcome.OK: 200,
    Outcome.DEGRADED: 200,
    Outcome.SHED: 429,
    Outcome.BELOW_QUORUM: 503,
    Outcome.DEADLINE: 504,
}
_TITLE = {
    Outcome.SHED: "Too many predictions are under way",
    Outcome.BELOW_QUORUM: "Fewer members answered than the quorum",
    Outcome.DEADLINE: "No member answered in time",
}


def create_app(settings: ServiceSettings, database: Database) -> FastAPI:
    """The prediction routes of one service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        aggregator = app.state.aggregator = Aggregator()
        news = asyncio.Event()
        loop = asyncio.get_running_loop()
        on_wake(settings.runtime.wake_socket("gateway"), lambda: _set(loop, news))
        aggregator.update(_snapshots(database))
        follower = asyncio.create_task(_follow(database, aggregator, news))
        yield
        follower.cancel()
        aggregator.close()

    app = FastAPI(title="Podium gateway", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.service = ServiceContext(settings, database)
    app.state.doorkeeper = Doorkeeper(database)
    problems.install(app)
    app.add_api_route("/healthz", _healthz, methods=["GET"])
    app.add_api_route("/api/v1/ensembles/{ensemble_id}/predict", predict, methods=["POST"], dependencies=[viewer])
    return app


def _set(loop: asyncio.AbstractEventLoop, news: asyncio.Event) -> None:
    loop.call_soon_threadsafe(news.set)


def _healthz() -> dict[str, str]:
    return {"status": "ok"}


def _snapshots(database: Database) -> list[Snapshot]:
    with database.read() as connection:
        return ensembles.snapshots(connection)


async def _follow(database: Database, aggregator: Aggregator, news: asyncio.Event) -> None:
    """Keep the aggregator at what the host wrote last; with no database, at what it knew."""
    while True:
        try:
            await asyncio.wait_for(news.wait(), REFRESH_S)
        except TimeoutError:
            pass
        news.clear()
        try:
            aggregator.update(await asyncio.to_thread(_snapshots, database))
        except DatabaseError:
            continue


async def predict(
    ensemble_id: RowId,
    request: Request,
    deadline_ms: Annotated[float | None, Query(ge=1, le=600_000)] = None,
    whole: bool = False,
    service: ServiceContext = context,
) -> Response:
    """The ensemble's answer for some rows.

    Body: `{"inputs": [[...], ...], "deadline_ms": 200}`, or an array of rows in numpy's format as
    application/x-npy. With `whole`, every member must answer, however long it takes, and its own outputs are
    returned too: for evaluation.
    """
    aggregator: Aggregator = request.app.state.aggregator
    snapshot = _serving(aggregator, service, ensemble_id)
    content = await body_within(request, MAX_PREDICT_BYTES)
    kind = request.headers.get("content-type", "").partition(";")[0]
    inputs, wanted_ms = _read_npy(content) if kind == "application/x-npy" else _read_json(content)
    _check_inputs(inputs, snapshot)
    deadline_ms = deadline_ms or wanted_ms
    if whole:
        snapshot = replace(snapshot, quorum=len(snapshot.members), deadline_ms=EVALUATION_MS)
    prediction = await aggregator.predict(snapshot, inputs, deadline_ms)
    body = _answer(prediction, whole)
    status = _STATUS[prediction.outcome]
    if status == 200:
        return Response(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")
    answered = f"{prediction.answered} of {len(snapshot.members)} members answered, the quorum is {snapshot.quorum}"
    return problems.problem(status, _TITLE[prediction.outcome], answered, **body)


def _serving(aggregator: Aggregator, service: ServiceContext, ensemble_id: int) -> Snapshot:
    snapshot = aggregator.snapshot(ensemble_id)
    if snapshot is None or snapshot.state not in SERVING:
        with service.database.read() as connection:
            row = ensembles.get(connection, ensemble_id)
        if snapshot is None:
            raise NotFoundError(f"ensemble {ensemble_id} is {row.state}: it does not answer")
    return snapshot


def _read_json(content: bytes) -> tuple[NDArray[np.float32], float | None]:
    try:
        body = orjson.loads(content)
        rows = body["inputs"]
        deadline_ms = body.get("deadline_ms")
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise BadRequestError('the body must be {"inputs": [[number, ...], ...]}') from error
    if deadline_ms is not None and not (isinstance(deadline_ms, int | float) and 1 <= deadline_ms <= 600_000):
        raise EnsembleError("deadline_ms: a number from 1 to 600000")
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise EnsembleError("inputs: rows of numbers, all of the same length") from error
    return _as_floats(array), deadline_ms


def _read_npy(content: bytes) -> tuple[NDArray[np.float32], None]:
    """The array of a body in numpy's format; what its header claims is believed only if the bytes are there."""
    stream = io.BytesIO(content)
    try:
        version = npy.read_magic(stream)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, in_columns, kind = read_header(stream)
        data = memoryview(content)[stream.tell() :]
        if kind.hasobject or math.prod(shape) * kind.itemsize != len(data):
            raise ValueError(f"{len(data):,} bytes are not shape {shape} of {kind}")
        array = np.frombuffer(data, kind).reshape(shape, order="F" if in_columns else "C")
    except Exception as error:  # the header is Python text, and numpy's reader of it may raise anything
        raise BadRequestError(f"the body is not an array in numpy's format: {error}") from error
    return _as_floats(array), None


def _as_floats(array: NDArray[Any]) -> NDArray[np.float32]:
    if array.dtype.kind not in "fiu":
        raise EnsembleError(f"inputs: rows of numbers, all of the same length, not {array.dtype}")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, and refused as such
        return array.astype(np.float32)


def _check_inputs(inputs: NDArray[np.float32], snapshot: Snapshot) -> None:
    if inputs.ndim != 2 or inputs.shape[1] != snapshot.features or not len(inputs):
        raise EnsembleError(f"inputs: {list(inputs.shape)} is not [rows, {snapshot.features}] with at least one row")
    if not np.isfinite(inputs).all():
        raise EnsembleError("inputs: every value must be finite")


def _answer(prediction: Prediction, whole: bool) -> dict[str, Any]:
    snapshot = prediction.snapshot
    body: dict[str, Any] = {
        "ensemble": snapshot.name,
        "version": snapshot.version,
        "mode": snapshot.mode.value,
        "outcome": prediction.outcome.value,
        "requested": len(snapshot.members),
        "answered": prediction.answered,
        "quorum": snapshot.quorum,
        "degraded": prediction.outcome is not Outcome.OK,
        "members": [{**asdict(report), "status": report.status.value} for report in prediction.reports],
        "deadline_ms": prediction.deadline_ms,
        "total_ms": prediction.total_ms,
    }
    if prediction.outputs is not None and prediction.member_outputs is not None:
        doubt = combine.uncertainty(prediction.member_outputs, prediction.outputs, prediction.weights)
        body |= {
            "outputs": prediction.outputs,
            "labels": [snapshot.classes[index] for index in prediction.outputs.argmax(axis=1)],
            "weights": prediction.weights,
            "entropy": doubt.entropy,
            "mutual_information": doubt.mutual_information,
        }
        if whole:
            body["member_outputs"] = prediction.member_outputs
    return body


def main() -> None:
    """Serve predictions until SIGTERM."""
    settings = begin()
    try:
        database = Database(settings.data.database)
        app = create_app(settings, database)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False
        )
        ReadyServer(config).run(sockets=_sockets(settings))
        database.close()
    except PodiumError as error:
        sys.exit(str(error))


def _sockets(settings: ServiceSettings) -> list[socket.socket]:
    """The gateway's port, and the Unix socket for the api."""
    tcp = socket.create_server((settings.host, settings.gateway_port), backlog=2048)
    path = settings.runtime.gateway_socket
    path.unlink(missing_ok=True)
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    unix.bind(str(path))
    unix.listen(2048)
    return [tcp, unix]


if __name__ == "__main__":
    main()
