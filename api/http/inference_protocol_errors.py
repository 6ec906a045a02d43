"""Errors of the Open Inference Protocol: its clients expect the message under `error`; api and gateway."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from podium.api.http.problem_details import ProblemType, encodable, problem, type_of, type_of_status
from podium.sweep.values.errors import PodiumError

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class InferenceRoute(APIRoute):
    """A route that answers errors in the format of the protocol."""

    def get_route_handler(self) -> Handler:
        return answers_inference_errors(super().get_route_handler())


def answers_inference_errors(handler: Handler) -> Handler:
    """Answers errors with the members of problem+json, as every route does, and with the protocol's `error`."""

    @functools.wraps(handler)
    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except PodiumError as error:
            return inference_error(type_of(error), str(error))
        except RequestValidationError as error:
            message = "; ".join(each["msg"] for each in error.errors())
            return inference_error(ProblemType.INVALID_REQUEST, message)
        except HTTPException as error:
            return inference_error(type_of_status(error.status_code), str(error.detail))

    return handle


def inference_error(kind: ProblemType, detail: str, **more: Any) -> JSONResponse:
    """An error in both formats, as application/json: KServe's client reads `error` only there."""
    answer = problem(kind, detail, error=encodable(detail), **more)
    answer.headers["Content-Type"] = "application/json"
    return answer
