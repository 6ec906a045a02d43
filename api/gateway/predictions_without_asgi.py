"""Answers ordinary predictions without ASGI: JSON, no query, a token that was looked up recently; gateway.

Everything else is declined, and answered by `podium_format_prediction_routes.predict`, which also reports what is wrong
with a request.
"""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response
from starlette.types import Scope

from podium.api.gateway import podium_format_prediction_routes
from podium.api.http import problem_details, request_arrival_time
from podium.api.http.browser_security_middleware import GuardedApp
from podium.api.http.handler_interface_without_asgi import Cancel, Respond
from podium.api.http.host_and_origin_check import refusal
from podium.api.http.raw_headers import Headers
from podium.api.http.request_limits import INLINE_SIZE
from podium.api.http.security_headers import guarded_headers
from podium.db.access.tokens import Role
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.values.ensemble_snapshot import Snapshot
from podium.ensemble.values.prediction import Prediction

_NPY = b"x-npy"
_JSON: Headers = [(b"content-type", b"application/json")]
_LENGTH = b"content-length"


class DirectPredictions:
    """The handler of a gateway app (`HandlerWithoutAsgi`)."""

    def __init__(self, app: GuardedApp) -> None:
        self._app = app
        self._match = podium_format_prediction_routes.PREDICT.path_regex.match
        self._head = _encoded(guarded_headers({"scheme": "http"}, _JSON))  # of a response without TLS

    def __call__(self, scope: Scope, body: bytes, respond: Respond) -> Cancel | None:
        aggregator: Aggregator = self._app.state.aggregator
        snapshot = self._snapshot(aggregator, scope, len(body))
        if snapshot is None:
            return None
        try:
            inputs, deadline_ms = podium_format_prediction_routes.read_rows(
                body, snapshot.features, self._app.state.request_limits.rows
            )
        except Exception:  # noqa: BLE001 - the app reads it again, and reports the error
            return None
        if podium_format_prediction_routes.is_large(len(inputs) * snapshot.outputs * len(snapshot.members)):
            return None  # the response is written in a thread

        def on_done(prediction: Prediction) -> None:
            respond(*self._answer(scope, prediction))

        arrived_s = scope["extensions"].get(request_arrival_time.EXTENSION)
        try:
            pending = aggregator.admit(snapshot, inputs, deadline_ms=deadline_ms, on_done=on_done, arrived_s=arrived_s)
        except Exception as error:  # noqa: BLE001 - every error is answered, as by the app
            respond(*_response(scope, problem_details.response_to(Request(scope), error)))
            return None
        return lambda: aggregator.cancel(pending)

    def _snapshot(self, aggregator: Aggregator, scope: Scope, size: int) -> Snapshot | None:
        """The version that answers; None for a request that is not an ordinary prediction, or not allowed."""
        if scope["method"] != "POST" or scope["query_string"] or size > INLINE_SIZE:
            return None
        matched = self._match(scope["path"])
        if matched is None or refusal(scope, self._app.allowed_host_names) is not None:
            return None
        headers = dict(reversed(scope["headers"]))  # the first of each name counts, as for the app
        if _NPY in headers.get(b"content-type", b"").lower() or _NPY in headers.get(b"accept", b"").lower():
            return None
        if not self._is_viewer(headers.get(b"authorization", b"")):
            return None
        traffic = podium_format_prediction_routes.traffic_of(aggregator, matched["ensemble"])
        return None if traffic is None else aggregator.ensembles.choose(traffic, None)

    def _is_viewer(self, authorization: bytes) -> bool:
        """Whether the header has a token that was looked up recently and may predict."""
        scheme, _, token = authorization.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return False
        holder = self._app.state.authenticator.cached_token_holder(token.strip())
        return holder is not None and holder.role.covers(Role.VIEWER)

    def _answer(self, scope: Scope, prediction: Prediction) -> tuple[int, bytes, bytes]:
        """The response as status, header lines and body."""
        try:
            if prediction.outcome not in podium_format_prediction_routes.REFUSALS:
                body = podium_format_prediction_routes.serialize(prediction)
                return 200, self._head if scope["scheme"] == "http" else _lines(scope, _JSON), body
            response = podium_format_prediction_routes.refused(prediction)
        except Exception as error:  # noqa: BLE001 - every error is answered, as by the app
            response = problem_details.response_to(Request(scope), error)
        return _response(scope, response)


def _response(scope: Scope, response: Response) -> tuple[int, bytes, bytes]:
    """The response as status, header lines and body."""
    headers = [header for header in response.raw_headers if header[0] != _LENGTH]
    return response.status_code, _lines(scope, headers), bytes(response.body)


def _lines(scope: Scope, headers: Headers) -> bytes:
    return _encoded(guarded_headers(scope, headers))


def _encoded(headers: Headers) -> bytes:
    return b"".join([name + b": " + value + b"\r\n" for name, value in headers])
