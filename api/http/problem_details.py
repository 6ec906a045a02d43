"""Errors as problem+json (RFC 9457): the one table of status codes; api and gateway."""

from __future__ import annotations

import errno
import logging
import secrets
from collections.abc import Iterable
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from podium.sweep.spec.type_messages import words_of
from podium.sweep.values.errors import (
    BadRequestError,
    BundleError,
    ConflictError,
    DatabaseError,
    DataError,
    EnsembleError,
    FilterError,
    ForbiddenError,
    InvalidSpecError,
    MissingExtraError,
    NotFoundError,
    NotPossibleError,
    PodiumError,
    ServiceError,
    StorageFullError,
    TooLargeError,
    TooManyFailuresError,
    TooSlowError,
    UnauthorizedError,
)

STATUS: dict[type[PodiumError], int] = {
    BadRequestError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    TooLargeError: 413,
    TooManyFailuresError: 429,
    InvalidSpecError: 422,
    DataError: 422,
    BundleError: 422,
    EnsembleError: 422,
    MissingExtraError: 501,
    DatabaseError: 503,
    TooSlowError: 400,  # trying again would not help
    StorageFullError: 507,
    ServiceError: 503,
}
_RETRY_S = {429: "1", 503: "1", 507: "10"}
_BAD_IDS = frozenset({"greater_than_equal", "int_parsing"})
log = logging.getLogger("podium.http")


def problem(status: int, title: str, detail: str, **more: Any) -> JSONResponse:
    """One problem+json answer."""
    headers = {"Retry-After": _RETRY_S[status]} if status in _RETRY_S else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"type": "about:blank", "title": title, "status": status, "detail": _sendable(detail), **more}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def status_of(error: PodiumError) -> int:
    """The status of the nearest class in the table; 500 for one that is not a client's business."""
    return next((STATUS[cls] for cls in type(error).__mro__ if cls in STATUS), 500)


def install(app: FastAPI) -> None:
    """Answer every error of `app` as problem+json."""
    app.add_exception_handler(PodiumError, answer_to)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(OSError, _system_error)
    app.add_exception_handler(Exception, _unexpected)


def answer_to(_: Request, error: Exception) -> JSONResponse:
    """What one of ours is as an answer."""
    assert isinstance(error, PodiumError)
    more: dict[str, Any] = {}
    if isinstance(error, InvalidSpecError):
        more["errors"] = [_one(p.location, p.message) for p in error.problems]
    if isinstance(error, NotPossibleError):
        more["possible"] = list(error.possible)
    if isinstance(error, FilterError):
        more |= {"position": error.position, "length": error.length}
    answer = problem(status_of(error), (type(error).__doc__ or "").strip().rstrip("."), str(error), **more)
    if isinstance(error, TooManyFailuresError):
        answer.headers["Retry-After"] = str(error.retry_s)
    return answer


def _invalid_request(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    errors = [_one(e["loc"], _words(e)) for e in error.errors()]
    detail = "; ".join(f"{'.'.join(e['location'])}: {e['message']}" for e in errors)
    return problem(422, "The request is not valid", detail, errors=errors)


def _words(details: dict[str, Any]) -> str:
    """What is wrong with a part of the request; the ids in its path are what people get wrong."""
    where, *names = details["loc"]
    if where == "path" and details["type"] in _BAD_IDS and str(names[0]).endswith("_id"):
        thing = str(names[0]).removesuffix("_id")
        listed = "the column id of `podium trial list`" if thing == "trial" else f"`podium {thing} list`"
        return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}'s id is a number from 1 on; ids are in {listed}"
    if details["type"] in ("enum", "literal_error"):
        return words_of(cast(ErrorDetails, details))
    return str(details["msg"])


def _one(location: Iterable[object], message: str) -> dict[str, Any]:
    return {"location": [_sendable(str(part)) for part in location], "message": _sendable(message)}


def _sendable(text: str) -> str:
    """Words of a client may hold half a character (a lone surrogate), which UTF-8 cannot carry back."""
    return text.encode(errors="replace").decode()


def _http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    answer = problem(error.status_code, "The request cannot be answered", str(error.detail))
    answer.headers.update(error.headers or {})  # 405 says what is allowed instead
    return answer


def _system_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OSError)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return answer_to(request, StorageFullError())
    return _unexpected(request, error)


def _gone(_: Request, __: Exception) -> Response:
    """The client left; nobody reads this, and it is no error of ours."""
    return Response(status_code=499)


def _unexpected(_: Request, error: Exception) -> JSONResponse:
    """Clients get an id to quote; the log has the rest."""
    error_id = secrets.token_hex(4)
    log.error("error %s", error_id, exc_info=error)
    return problem(500, "Something went wrong in Podium", f"the log of the service has it as error {error_id}")
