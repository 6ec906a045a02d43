"""Answers the requests of `object_store_fetch_client` on a Unix socket, each in a thread; nodes process.

A request is a line of JSON with the operation as `do`; so is the reply, with `missing` or `error` for a failure.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socketserver
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.sweep.file_store.object_store_downloader import ArtifactCache
from podium.sweep.values.errors import MissingFileError, PodiumError

MAX_LINE_BYTES = 4 << 20
log = logging.getLogger("podium.artifacts")


class ArtifactServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Serves the components of the head, and commands of its user."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, socket: Path, cache: ArtifactCache) -> None:
        socket.unlink(missing_ok=True)
        self.cache = cache
        super().__init__(str(socket), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    server: ArtifactServer

    def handle(self) -> None:
        try:
            reply = answer(self.server.cache, json.loads(self.rfile.readline(MAX_LINE_BYTES)))
        except MissingFileError as error:
            reply = {"missing": str(error)}
        except PodiumError as error:
            log.warning("%s", error)
            reply = {"error": str(error)}
        except Exception as error:  # any error: somebody waits for a reply
            log.exception("a request for a file failed")
            reply = {"error": f"{type(error).__name__}: {error}"}
        with contextlib.suppress(OSError):  # the request was withdrawn
            self.wfile.write(json.dumps(reply).encode() + b"\n")


def answer(cache: ArtifactCache, request: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a request asks for. Raises `PodiumError`."""
    what = request["do"]
    if what == "fetch":
        cache.fetch(str(request["key"]))
    elif what == "fetch_checkpoints":
        cache.fetch_checkpoints(str(request["prefix"]), int(request["attempt"]))
    elif what == "header":
        return {"metadata": cache.header(str(request["key"]))}
    elif what == "list":
        return {"files": cache.files(str(request["prefix"]))}
    elif what == "remove_checkpoints":
        cache.remove_checkpoints(str(request["prefix"]))
    elif what == "remove":
        cache.remove([str(path) for path in request["below"]])
    else:
        return {"error": f"unknown request {what!r}"}
    return {}
