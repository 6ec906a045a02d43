"""Problem types: every error that a client can receive has one, and the OpenAPI document lists them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI, HTTPException
from starlette.testclient import TestClient

from podium.api.http import problem_details
from podium.api.http.problem_details import ERROR_TYPES, STATUS_TYPES, ProblemType
from podium.sweep.values import errors
from podium.sweep.values.errors import NotPossibleError, PodiumError, Problem
from tests.repository import ROOT
from tests.service_rig import ServiceRig

# Raised in a trial, by the command line, the search, the scheduler or at start-up, never by a route.
NOT_RAISED_BY_ROUTES = {
    "BadReportError",
    "ConversionError",
    "DataDirectoryError",
    "NoDeviceError",
    "NonFiniteError",
    "NotInTrialError",
    "ParallelError",
    "PinningError",
    "RankLostError",
    "ScriptFailedError",
    "StudyError",
    "StudyUnavailableError",
    "UnusableClassError",
    "UserCodeError",
}


def subclasses(error: type[PodiumError]) -> Iterator[type[PodiumError]]:
    for each in error.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from subclasses(each)


def test_every_error_that_a_client_can_receive_has_a_type() -> None:
    without = {each.__name__ for each in subclasses(PodiumError) if not set(each.__mro__) & ERROR_TYPES.keys()}
    assert without == NOT_RAISED_BY_ROUTES


def test_no_route_raises_an_error_without_a_type() -> None:
    modules = [
        path for room in ("rest", "http", "gateway", "use_cases") for path in (ROOT / "api" / room).rglob("*.py")
    ]
    assert modules
    assert not {name for path in modules for name in raised(path) if name in NOT_RAISED_BY_ROUTES}


def test_every_status_that_routes_raise_has_a_type() -> None:
    statuses = {
        call.args[0].value
        for path in (ROOT / "api").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "HTTPException"
        if isinstance(call.args[0], ast.Constant)
    }
    assert {400, 408, 413, 415, 429} <= statuses <= STATUS_TYPES.keys()
    assert all(kind.status == status for status, kind in STATUS_TYPES.items())


def raised(path: Path) -> set[str]:
    names = (node.exc for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Raise))
    return {getattr(name.func if isinstance(name, ast.Call) else name, "id", "") for name in names}


def test_types_are_unique_urns() -> None:
    urns = [kind.urn for kind in ProblemType]
    assert len(set(urns)) == len(urns)
    assert ProblemType.INVALID_SPEC.urn == "urn:podium:problem:invalid-spec"


def test_openapi_document_lists_every_type(service: ServiceRig) -> None:
    document = service.app().openapi()
    assert document["components"]["schemas"]["Problem"]["properties"]["type"]["enum"] == [k.urn for k in ProblemType]
    assert all(
        f"| `{kind.urn}` | {kind.status} | {kind.title} |" in document["info"]["description"] for kind in ProblemType
    )


@pytest.mark.parametrize("kind", ERROR_TYPES, ids=lambda kind: kind.__name__)
def test_error_is_answered_with_its_type(kind: type[PodiumError]) -> None:
    error = kind.__new__(kind)
    Exception.__init__(error, "what is wrong")
    for name, value in (("problems", [Problem(("a", "b"), "wrong")]), ("possible", ("stop",)), ("retry_s", 7)):
        setattr(error, name, value)
    for name in ("position", "length"):
        setattr(error, name, 1)

    answer = answered(error)

    expected = ERROR_TYPES[kind]
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["type"], body["title"], body["status"]) == (expected.urn, expected.title, expected.status)
    assert (answer.status_code, body["detail"]) == (expected.status, "what is wrong")


def test_subclass_has_the_type_of_its_nearest_base() -> None:
    assert problem_details.type_of(errors.IllegalTransitionError()) is ProblemType.CONFLICT
    assert problem_details.type_of(NotPossibleError("no", ["stop"])) is ProblemType.COMMAND_NOT_POSSIBLE
    assert problem_details.type_of(errors.PinningError()) is ProblemType.INTERNAL_ERROR


@pytest.mark.parametrize("status", STATUS_TYPES)
def test_http_exception_is_answered_with_the_type_of_its_status(status: int) -> None:
    body = answered(HTTPException(status, "what is wrong")).json()
    assert (body["type"], body["status"]) == (STATUS_TYPES[status].urn, status)


def test_any_other_error_is_an_internal_error() -> None:
    body = answered(ValueError("a secret")).json()
    assert (body["type"], body["status"]) == (ProblemType.INTERNAL_ERROR.urn, 500)
    assert "a secret" not in str(body)


def answered(error: Exception) -> httpx2.Response:
    """The response of a route that raises `error`."""
    app = FastAPI()
    problem_details.install(app)

    @app.get("/")
    def fail() -> None:
        raise error

    return TestClient(app, raise_server_exceptions=False).get("/")
