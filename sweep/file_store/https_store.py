"""The file store of the head over HTTPS: parts that continue after a broken connection, checked by hash; node agent."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from podium.sweep.file_store.file_store_interface import StoredFile, never
from podium.sweep.file_store.validated_file_keys import checked, checked_prefix
from podium.sweep.runtime.safe_file_reads import open_regular, sha256_of
from podium.sweep.values.errors import (
    BadRequestError,
    DamagedFileError,
    DataError,
    FileStoreError,
    MissingFileError,
    RefusedFileError,
    UnauthorizedError,
)

PART_BYTES = 4 << 20
TIMEOUT_S = 20.0  # of one request
LARGE_BYTES = 256 << 20
HASHED_BYTES_PER_S = 50 << 20  # by a slow disk
PATIENCE_S = 600.0  # for which a file is tried again while the head does not answer
FIRST_WAIT_S = 0.1
MAX_WAIT_S = 5.0
SHA256 = "podium-sha256"  # response header
_ROOT = "/internal/v1"
_DATA_PROBLEMS = ("invalid-data", "data-changed")  # the head cannot read the data of a sweep
log = logging.getLogger("podium.https_store")


class HeadFileStore:
    """See `podium.sweep.file_store.file_store_interface.FileStore`. Thread-safe."""

    def __init__(
        self,
        client: httpx2.Client,
        *,
        part_bytes: int = PART_BYTES,
        patience_s: float = PATIENCE_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`client` has the address of the head, the token of the node, and the certificate that it trusts."""
        self._client = client
        self._part_bytes = part_bytes
        self._patience_s = patience_s
        self._sleep = sleep

    def put(self, key: str, path: Path, sha256: str, *, stopped: Callable[[], bool] = never) -> None:
        """Raises `RefusedFileError` as well: the attempt is over, so its files no longer count.

        `stopped`: asked before each part; if it returns true, `FileStoreError` is raised, and the parts stay.
        """
        url = f"{_ROOT}/files/{quote(checked(key))}"
        with open_regular(path) as file:
            size = file.seek(0, 2)
            about = {"size_bytes": size, "sha256": sha256}
            received = damaged = 0
            while True:
                file.seek(received)
                content = file.read(self._part_bytes)
                if stopped():
                    raise FileStoreError(f"{key} is sent later")
                options = {**about, "offset": received}
                answer = self._ask("PUT", url, params=options, content=content, stopped=stopped, **_timeout(size))
                if answer.status_code == httpx2.codes.CONFLICT and "received" in answer.json():
                    received = int(answer.json()["received"])
                elif answer.status_code == httpx2.codes.UNPROCESSABLE_CONTENT and damaged < 2:
                    received, damaged = 0, damaged + 1  # the head has discarded what it received
                else:
                    received = int(_checked_answer(answer, key).json()["received"])
                if received >= size and not answer.is_error:
                    return

    def get(self, key: str, path: Path) -> None:
        """Raises `DamagedFileError` as well, if the content that arrived has another SHA-256 than the head says."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.part.tmp")
        try:
            for _ in range(3):
                sha256 = self._download(key, temporary)
                if sha256_of(temporary) == sha256:
                    temporary.replace(path)
                    return
                temporary.unlink()
            raise DamagedFileError(f"{key} arrived three times with another content than its SHA-256 says")
        except OSError as error:
            raise FileStoreError(f"cannot write {path}: {error.strerror}") from error
        finally:
            temporary.unlink(missing_ok=True)

    def read(self, key: str, start: int, end: int) -> bytes:
        if end <= start:
            return b""
        answer = self._ask("GET", _file(key), headers={"range": f"bytes={start}-{end - 1}"})
        if answer.status_code == httpx2.codes.RANGE_NOT_SATISFIABLE:
            return b""  # it begins behind the end of the file
        return _checked_answer(answer, key).content

    def remove(self, keys: Iterable[str]) -> None:
        wanted = [checked(key) for key in keys]
        if wanted:
            _checked_answer(self._ask("POST", f"{_ROOT}/files/remove", json={"keys": wanted}), ", ".join(wanted[:3]))

    def list(self, prefix: str) -> Sequence[StoredFile]:
        answer = self._ask("GET", f"{_ROOT}/files", params={"prefix": checked_prefix(prefix)})
        return [StoredFile(**each) for each in _checked_answer(answer, prefix).json()]

    def append_log(self, key: str, offset: int, content: bytes, *, patience_s: float | None = None) -> int:
        """Write to a log from `offset` on, and end it there; returns how much of it the head has.

        `patience_s`: for how long it is tried again; None: as for files. Raises `FileStoreError`, `RefusedFileError`.
        """
        url = f"{_ROOT}/logs/{quote(checked(key))}"
        answer = self._ask("PUT", url, params={"offset": offset}, content=content, patience_s=patience_s)
        if answer.status_code == httpx2.codes.CONFLICT and "received" in answer.json():
            return int(answer.json()["received"])
        return int(_checked_answer(answer, key).json()["received"])

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of another request of the node to the head. Raises `FileStoreError` as above."""
        return _checked_answer(self._ask(method, f"{_ROOT}/{path}", **options), path).json()

    def _download(self, key: str, to: Path) -> str:
        """Write what is missing of a file, until it is complete; returns the SHA-256 that the head says."""
        end = time.monotonic() + self._patience_s
        etag, received = "", 0
        with to.open("wb") as file:
            while True:
                headers = {"range": f"bytes={received}-", "if-range": etag} if received else {}
                request = self._client.stream("GET", _file(key), headers=headers)
                with contextlib.suppress(httpx2.TransportError), request as answer:
                    if answer.is_error:
                        answer.read()
                        if not _is_temporary(answer):
                            _checked_answer(answer, key)
                    else:
                        if answer.status_code != httpx2.codes.PARTIAL_CONTENT:
                            received = file.seek(0)
                            file.truncate()
                        etag = answer.headers.get("etag", "")
                        for chunk in answer.iter_bytes(1 << 20):
                            received += file.write(chunk)
                            end = time.monotonic() + self._patience_s
                        file.flush()
                        os.fsync(file.fileno())
                        return str(answer.headers[SHA256])
                if time.monotonic() >= end:
                    raise FileStoreError(f"the head did not send {key} within {self._patience_s:g} s")
                self._sleep(1.0)

    def _ask(
        self,
        method: str,
        url: str,
        *,
        patience_s: float | None = None,
        stopped: Callable[[], bool] = never,
        **options: Any,
    ) -> httpx2.Response:
        """One request, sent again while the head does not answer. Raises `FileStoreError`."""
        end = time.monotonic() + (self._patience_s if patience_s is None else patience_s)
        wait_s = FIRST_WAIT_S
        while True:
            try:
                answer = self._client.request(method, url, **options)
                if not _is_temporary(answer):
                    return answer
                reason = _detail(answer)
            except httpx2.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            if time.monotonic() + wait_s > end or stopped():
                raise FileStoreError(f"the head does not answer: {reason}")
            log.info("%s %s: %s; trying again", method, url, reason)
            self._sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_WAIT_S)


def _timeout(size: int) -> dict[str, float]:
    """The option of a request after whose last part the head computes the hash of a large file."""
    return {"timeout": TIMEOUT_S + size / HASHED_BYTES_PER_S} if size > LARGE_BYTES else {}


def _file(key: str) -> str:
    return f"{_ROOT}/files/{quote(checked(key))}"


def _is_temporary(answer: httpx2.Response) -> bool:
    """Whether the same request may succeed later: the head is busy, restarting, or its disk is full."""
    return answer.status_code in (408, 429) or answer.status_code >= 500


def _checked_answer(answer: httpx2.Response, what: str) -> httpx2.Response:
    if not answer.is_error:
        return answer
    detail = _detail(answer)
    if answer.status_code in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
        raise UnauthorizedError(f"the head does not accept the token of this node: {detail}")
    if _type(answer) in _DATA_PROBLEMS:
        raise DataError(detail)
    if answer.status_code == httpx2.codes.NOT_FOUND:
        raise MissingFileError(detail)
    if answer.status_code == httpx2.codes.CONFLICT:
        raise RefusedFileError(detail)
    if answer.status_code == httpx2.codes.BAD_REQUEST:
        raise BadRequestError(detail)
    if answer.status_code == httpx2.codes.UNPROCESSABLE_CONTENT:
        raise DamagedFileError(detail)
    raise FileStoreError(f"{what}: the head refused with status {answer.status_code}: {detail}")


def _type(answer: httpx2.Response) -> str:
    """The name of the problem type, such as `invalid-data`."""
    try:
        return str(answer.json()["type"]).rpartition(":")[2]
    except (json.JSONDecodeError, KeyError, TypeError):
        return ""


def _detail(answer: httpx2.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return f"status {answer.status_code}"
