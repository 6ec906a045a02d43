"""Routes of the Open Inference Protocol say `error` where they fail, as its clients expect; api and gateway."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from podium.api.http import problem_details
from podium.sweep.values.errors import PodiumError

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class InferenceRoute(APIRoute):
    """Answers errors with the keys of problem+json, as every route does, and the protocol's own: `error`."""

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await answer(request)
            except PodiumError as error:
                title = (type(error).__doc__ or "").strip().rstrip(".")
                return refusal(problem_details.status_of(error), title, str(error))
            except RequestValidationError as error:
                return refusal(422, "The request is not valid", "; ".join(each["msg"] for each in error.errors()))
            except HTTPException as error:
                return refusal(error.status_code, "The request cannot be answered", str(error.detail))

        return handle


def refusal(status: int, title: str, detail: str, **more: Any) -> JSONResponse:
    """One error, in the words of both; as application/json, in which alone KServe's client looks for `error`."""
    answer = problem_details.problem(status, title, detail, error=detail.encode(errors="replace").decode(), **more)
    answer.headers["Content-Type"] = "application/json"
    return answer
