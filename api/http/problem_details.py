"""Errors as problem+json (RFC 9457): the table of problem types, and the type of each error; api and gateway."""

from __future__ import annotations

import errno
import logging
import secrets
from collections.abc import Callable, Iterable
from enum import Enum, unique
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from podium.sweep.spec.type_error_messages import type_message
from podium.sweep.values.errors import (
    BadRequestError,
    BundleError,
    ChangedDataError,
    ConflictError,
    DamagedFileError,
    DatabaseError,
    DataError,
    EnsembleError,
    FileStoreError,
    FilterError,
    ForbiddenError,
    InvalidSpecError,
    MissingExtraError,
    MissingFileError,
    NotFoundError,
    NotPossibleError,
    PodiumError,
    RefusedFileError,
    ServiceError,
    StorageFullError,
    TooLargeError,
    TooManyFailuresError,
    TooSlowError,
    UnauthorizedError,
)

URN = "urn:podium:problem:"


@unique
class ProblemType(Enum):
    """Every kind of problem with its status code and its title."""

    BAD_REQUEST = 400, "Bad request"
    INVALID_FILTER = 400, "Invalid trial filter"
    MALFORMED_HTTP = 400, "Malformed HTTP request"
    QUERY_TOO_SLOW = 400, "Query takes too long"
    UNAUTHORIZED = 401, "Authentication required"
    FORBIDDEN = 403, "Permission denied"
    CROSS_ORIGIN = 403, "Cross-origin request"
    NOT_FOUND = 404, "Not found"
    METHOD_NOT_ALLOWED = 405, "Method not allowed"
    REQUEST_TIMEOUT = 408, "Request timeout"
    CONFLICT = 409, "Not possible in the current state"
    COMMAND_NOT_POSSIBLE = 409, "Command not possible in the current state"
    BODY_TOO_LARGE = 413, "Request body too large"
    UNSUPPORTED_ENCODING = 415, "Unsupported content encoding"
    UNKNOWN_HOST = 421, "Unknown host name"
    INVALID_REQUEST = 422, "Invalid request"
    INVALID_SPEC = 422, "Invalid sweep file"
    INVALID_DATA = 422, "Data set cannot be read"
    DATA_CHANGED = 422, "Data set has changed"
    INVALID_BUNDLE = 422, "Invalid code bundle"
    INVALID_ENSEMBLE_REQUEST = 422, "Invalid ensemble request"
    TOO_MANY_REQUESTS = 429, "Too many requests"
    TOO_MANY_FAILED_LOGINS = 429, "Too many failed logins"
    TOO_MANY_PREDICTIONS = 429, "Too many predictions in flight"
    HEADERS_TOO_LARGE = 431, "Request headers too large"
    INTERNAL_ERROR = 500, "Internal error"
    MISSING_EXTRA = 501, "Optional dependency not installed"
    SERVICE_UNAVAILABLE = 503, "Service unavailable"
    DATABASE_UNAVAILABLE = 503, "Database unavailable"
    TOO_MANY_CONNECTIONS = 503, "Too many connections"
    BELOW_QUORUM = 503, "Fewer members answered than the quorum"
    DEADLINE_EXCEEDED = 504, "No member answered before the deadline"
    STORAGE_FULL = 507, "Disk full"

    @property
    def status(self) -> int:
        return self.value[0]

    @property
    def title(self) -> str:
        return self.value[1]

    @property
    def urn(self) -> str:
        """The `type` of the problem: `urn:podium:problem:` and the name, such as `invalid-spec`."""
        return URN + self.name.lower().replace("_", "-")


ERROR_TYPES: dict[type[PodiumError], ProblemType] = {
    BadRequestError: ProblemType.BAD_REQUEST,
    FilterError: ProblemType.INVALID_FILTER,
    UnauthorizedError: ProblemType.UNAUTHORIZED,
    ForbiddenError: ProblemType.FORBIDDEN,
    NotFoundError: ProblemType.NOT_FOUND,
    ConflictError: ProblemType.CONFLICT,
    NotPossibleError: ProblemType.COMMAND_NOT_POSSIBLE,
    TooLargeError: ProblemType.BODY_TOO_LARGE,
    TooManyFailuresError: ProblemType.TOO_MANY_FAILED_LOGINS,
    InvalidSpecError: ProblemType.INVALID_SPEC,
    DataError: ProblemType.INVALID_DATA,
    ChangedDataError: ProblemType.DATA_CHANGED,
    BundleError: ProblemType.INVALID_BUNDLE,
    EnsembleError: ProblemType.INVALID_ENSEMBLE_REQUEST,
    MissingExtraError: ProblemType.MISSING_EXTRA,
    DatabaseError: ProblemType.DATABASE_UNAVAILABLE,
    TooSlowError: ProblemType.QUERY_TOO_SLOW,  # 400: a retry does not help
    StorageFullError: ProblemType.STORAGE_FULL,
    ServiceError: ProblemType.SERVICE_UNAVAILABLE,
    FileStoreError: ProblemType.SERVICE_UNAVAILABLE,
    MissingFileError: ProblemType.NOT_FOUND,
    DamagedFileError: ProblemType.INVALID_REQUEST,
    RefusedFileError: ProblemType.CONFLICT,
}
# Types of the errors that the framework and the routes raise as `HTTPException`.
STATUS_TYPES = {
    400: ProblemType.BAD_REQUEST,
    404: ProblemType.NOT_FOUND,
    405: ProblemType.METHOD_NOT_ALLOWED,
    408: ProblemType.REQUEST_TIMEOUT,
    413: ProblemType.BODY_TOO_LARGE,
    415: ProblemType.UNSUPPORTED_ENCODING,
    422: ProblemType.INVALID_REQUEST,
    429: ProblemType.TOO_MANY_REQUESTS,
}
_RETRY_S = {429: "1", 503: "1", 507: "10"}
_INVALID_IDS = frozenset({"greater_than_equal", "int_parsing"})
log = logging.getLogger("podium.http")


def problem(kind: ProblemType, detail: str, **more: Any) -> JSONResponse:
    """A problem+json response; `more` are further members of its body."""
    headers = {"Retry-After": _RETRY_S[kind.status]} if kind.status in _RETRY_S else {}
    if kind is ProblemType.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"type": kind.urn, "title": kind.title, "status": kind.status, "detail": encodable(detail), **more}
    return JSONResponse(body, kind.status, headers, media_type="application/problem+json")


def type_of(error: PodiumError) -> ProblemType:
    """The type of the nearest class in `ERROR_TYPES`; `INTERNAL_ERROR` for an error that no request can cause."""
    return next((ERROR_TYPES[cls] for cls in type(error).__mro__ if cls in ERROR_TYPES), ProblemType.INTERNAL_ERROR)


def type_of_status(status: int) -> ProblemType:
    """The type of an `HTTPException`. Another status than those of `STATUS_TYPES` is a bug."""
    return STATUS_TYPES.get(status, ProblemType.INTERNAL_ERROR)


def install(app: FastAPI) -> None:
    """Answer every error of `app` as problem+json."""
    for cls, handler in _HANDLERS.items():
        app.add_exception_handler(cls, handler)


def response_to(request: Request, error: Exception) -> Response:
    """The response of the handler for the nearest class of `error`."""
    return next(_HANDLERS[cls] for cls in type(error).__mro__ if cls in _HANDLERS)(request, error)


def answer_to(_: Request, error: Exception) -> JSONResponse:
    """The response to a `PodiumError`."""
    assert isinstance(error, PodiumError)
    more: dict[str, Any] = {}
    if isinstance(error, InvalidSpecError):
        more["errors"] = [_located(p.location, p.message) for p in error.problems]
    if isinstance(error, NotPossibleError):
        more["possible"] = list(error.possible)
    if isinstance(error, FilterError):
        more |= {"position": error.position, "length": error.length}
    answer = problem(type_of(error), str(error), **more)
    if isinstance(error, TooManyFailuresError):
        answer.headers["Retry-After"] = str(error.retry_s)
    return answer


def _invalid_request(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    errors = [_located(e["loc"], _message(e)) for e in error.errors()]
    detail = "; ".join(f"{'.'.join(e['location'])}: {e['message']}" for e in errors)
    return problem(ProblemType.INVALID_REQUEST, detail, errors=errors)


def _message(details: dict[str, Any]) -> str:
    """What is wrong with a part of the request; ids in its path are the most common mistake."""
    where, *names = details["loc"]
    if where == "path" and details["type"] in _INVALID_IDS and str(names[0]).endswith("_id"):
        noun = str(names[0]).removesuffix("_id")
        listed = "the column id of `podium trial list`" if noun == "trial" else f"`podium {noun} list`"
        return f"{noun} id must be a positive integer; {listed} shows the ids"
    if details["type"] in ("enum", "literal_error"):
        return type_message(cast(ErrorDetails, details))
    return str(details["msg"])


def _located(location: Iterable[object], message: str) -> dict[str, Any]:
    return {"location": [encodable(str(part)) for part in location], "message": encodable(message)}


def encodable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode: clients may have sent them in JSON."""
    return text.encode(errors="replace").decode()


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    kind = type_of_status(error.status_code)
    if kind.status != error.status_code:
        return _unexpected(request, error)
    answer = problem(kind, str(error.detail))
    answer.headers.update(error.headers or {})  # a 405 lists the allowed methods
    return answer


def _system_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OSError)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return answer_to(request, StorageFullError())
    return _unexpected(request, error)


def _client_disconnected(_: Request, __: Exception) -> Response:
    """Nobody reads this response; it keeps the disconnect out of the error log."""
    return Response(status_code=499)


def _unexpected(_: Request, error: Exception) -> JSONResponse:
    """The response has an id under which the traceback is in the log."""
    error_id = secrets.token_hex(4)
    log.error("error %s", error_id, exc_info=error)
    return problem(
        ProblemType.INTERNAL_ERROR, f"unexpected error; the service log has the traceback as error {error_id}"
    )


_HANDLERS: dict[type[Exception], Callable[[Request, Exception], Response]] = {
    PodiumError: answer_to,
    RequestValidationError: _invalid_request,
    HTTPException: _http_error,
    ClientDisconnect: _client_disconnected,
    OSError: _system_error,
    Exception: _unexpected,
}
