"""HTTP to one service: retries while it restarts, pagination, and errors from its answers; user's process and CLI.

A request that was not sent is always retried; one that may have been received is retried only if it is idempotent.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Self, TypeVar

import httpx2

from podium.sweep.runtime.certificate_pin import ssl_context
from podium.sweep.values.errors import (
    InvalidSpecError,
    NotFoundError,
    NotPossibleError,
    PodiumError,
    Problem,
    ServiceError,
)

TIMEOUT_S = 70.0
RETRY_S = 10.0  # a killed component of the service is back sooner
MAX_PAUSE_S = 1.0
_UNAVAILABLE = 503
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)

Answer = TypeVar("Answer")


class Connection:
    """A service and a token. Every request raises `PodiumError` with the server's message if it is refused."""

    poll_s = 0.2  # interval of waiting methods
    refresh_s = 0.25  # interval of displays in a terminal
    pause_s = 0.05  # before the first retry; doubles with each retry

    def __init__(
        self,
        url: str,
        token: str,
        timeout_s: float = TIMEOUT_S,
        *,
        retry_s: float = RETRY_S,
        certificate: str | None = None,
        http: httpx2.Client | None = None,
    ) -> None:
        """Connect to the service at `url`.

        `retry_s`: how long to retry while the service does not respond, as during a restart; 0: no retry.
        `certificate`: the service's certificate (PEM), if no default authority has signed it.
        `http`: an HTTP client to use instead of one made from the other arguments; `close` closes it.
        """
        self._http = (
            http
            if http is not None
            else httpx2.Client(
                base_url=url,
                headers={"Authorization": f"Bearer {token}"},
                timeout=timeout_s,
                trust_env=False,
                verify=True if certificate is None else ssl_context(certificate),
            )
        )
        self._retry_s = retry_s
        self.url = url

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pages(self, item: type[Answer], path: str, limit: int = 200, **query: str) -> Iterator[Answer]:
        """The items of all pages."""
        after: int | None = None
        while True:
            params = {"limit": limit, **query} | ({} if after is None else {"after": after})
            page = self._answer(dict[str, Any], "GET", path, params=params)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def _answer(self, kind: type[Answer], method: str, path: str, **options: Any) -> Answer:
        """The JSON body of the answer, typed as `kind`; the service guarantees its fields."""
        body: Answer = self._request(method, path, **options).json()
        return body

    def _request(self, method: str, path: str, *, repeatable: bool | None = None, **options: Any) -> httpx2.Response:
        """The answer. `repeatable`: the request is idempotent; by default GET, and any with an Idempotency-Key."""
        request = self._http.build_request(method, path, **options)
        if repeatable is None:
            repeatable = method == "GET" or "Idempotency-Key" in request.headers
        return self._send(request, repeatable=repeatable)

    @contextlib.contextmanager
    def _stream(self, path: str, **options: Any) -> Iterator[httpx2.Response]:
        """An answer that is read as a stream."""
        response = self._send(self._http.build_request("GET", path, **options), repeatable=True, stream=True)
        try:
            yield response
        except httpx2.HTTPError as error:
            raise ServiceError(f"lost the connection to the service at {self.url}: {error}") from error
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
                raise ServiceError(f"the service at {self.url} does not respond: {error}") from error
            if response.status_code < 400:
                return response
            response.read()
            if response.status_code != _UNAVAILABLE or not repeatable or not _slept(pauses):
                raise error_of(response)

    def _pauses(self) -> Iterator[float]:
        """The pause before each retry, until `retry_s` is over."""
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
    """The error for a refusal of the server."""
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
    """A problem without the part of the request it was in; the message about an id in the path names it."""
    if location[:1] == ["path"]:
        return Problem((), message)
    return Problem(tuple(location[1:] if location[:1] in (["query"], ["body"], ["header"]) else location), message)
