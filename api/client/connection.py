"""One service over HTTP: requests that are repeated while it restarts, pages, and its words as errors; cli, notebooks.

What was not sent is sent again; what may have been heard is repeated only where twice does what once does.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Self

import httpx2

from podium.api.client.service_certificate import trusting
from podium.sweep.values.errors import (
    InvalidSpecError,
    NotFoundError,
    NotPossibleError,
    PodiumError,
    Problem,
    ServiceError,
)

TIMEOUT_S = 70.0
RETRY_S = 10.0  # what a part of the service that was killed takes to come back, and more
MAX_PAUSE_S = 1.0
_BUSY = 503
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class Connection:
    """A service and a token. Every request raises `PodiumError` with the server's own words when it says no."""

    poll_s = 0.2  # between two looks at what is waited for
    pause_s = 0.05  # before a request is repeated for the first time; then twice as long each time

    def __init__(
        self,
        url: str,
        token: str,
        timeout_s: float = TIMEOUT_S,
        *,
        retry_s: float = RETRY_S,
        certificate: str | None = None,
    ) -> None:
        """`retry_s`: how long a service that does not answer is asked again, as while it restarts; 0 asks once.

        `certificate` is the service's own, in PEM, where no authority that is trusted by default has signed it.
        """
        self._http = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_s,
            trust_env=False,
            verify=True if certificate is None else trusting(certificate),
        )
        self._retry_s = retry_s
        self.url = url

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pages(self, path: str, limit: int = 200, **query: str) -> Iterator[dict[str, Any]]:
        after: int | None = None
        while True:
            params = {"limit": limit, **query} | ({} if after is None else {"after": after})
            page = self._object("GET", path, params=params)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def _object(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._json(method, path, **more)
        return found

    def _json(self, method: str, path: str, **more: Any) -> Any:
        return self._request(method, path, **more).json()

    def _request(self, method: str, path: str, *, repeatable: bool | None = None, **more: Any) -> httpx2.Response:
        """The answer. `repeatable`: twice does what once does; by default so for GET, and with an Idempotency-Key."""
        request = self._http.build_request(method, path, **more)
        if repeatable is None:
            repeatable = method == "GET" or "Idempotency-Key" in request.headers
        return self._send(request, repeatable=repeatable)

    @contextlib.contextmanager
    def _stream(self, path: str, **more: Any) -> Iterator[httpx2.Response]:
        """An answer that is read while it comes."""
        response = self._send(self._http.build_request("GET", path, **more), repeatable=True, stream=True)
        try:
            yield response
        except httpx2.HTTPError as error:
            raise ServiceError(f"the answer of the service at {self.url} broke off: {error}") from error
        finally:
            response.close()

    def _send(self, request: httpx2.Request, *, repeatable: bool, stream: bool = False) -> httpx2.Response:
        pauses = self._pauses()
        while True:
            try:
                response = self._http.send(request, stream=stream)
            except httpx2.HTTPError as error:
                if (repeatable or isinstance(error, _NOT_SENT)) and _slept(pauses):
                    continue
                raise ServiceError(f"the service at {self.url} does not answer: {error}") from error
            if response.status_code < 400:
                return response
            response.read()
            if response.status_code != _BUSY or not repeatable or not _slept(pauses):
                raise error_of(response)

    def _pauses(self) -> Iterator[float]:
        """How long to wait before each repetition, as long as there is patience."""
        end = time.monotonic() + self._retry_s
        pause_s = self.pause_s
        while time.monotonic() + pause_s < end:
            yield pause_s
            pause_s = min(2 * pause_s, MAX_PAUSE_S)


def _slept(pauses: Iterator[float]) -> bool:
    pause_s = next(pauses, None)
    if pause_s is None:
        return False
    time.sleep(pause_s)
    return True


def error_of(response: httpx2.Response) -> PodiumError:
    """What the server said when it refused."""
    try:
        problem = response.json()
    except ValueError:
        return ServiceError(f"the service answered with status {response.status_code}")
    if response.status_code == 422 and problem.get("errors"):
        return InvalidSpecError([_problem(e["location"], e["message"]) for e in problem["errors"]], "")
    detail = problem.get("detail") or problem.get("title") or f"status {response.status_code}"
    if "possible" in problem:
        return NotPossibleError(detail, problem["possible"])
    return NotFoundError(detail) if response.status_code == 404 else PodiumError(detail)


def _problem(location: list[str], message: str) -> Problem:
    """Without the part of the request that it stood in; what is wrong with an id says so itself."""
    if location[:1] == ["path"]:
        return Problem((), message)
    return Problem(tuple(location[1:] if location[:1] in (["query"], ["body"], ["header"]) else location), message)
