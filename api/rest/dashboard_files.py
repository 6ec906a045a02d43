"""The dashboard: the files of its build, and its one page for every address that no route knows; api.

Public, since a page that is the same for everybody tells no secret. The build is small: it is read and compressed
once, and again when a file of it changes.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from podium.api.http.problem_details import problem

BUILD = Path(__file__).parents[1] / "static"
PAGE = "index.html"
HASHED = "assets"  # names in it hold a hash of what is in them
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_ROUTES = ("api", "v2", "schemas", "metrics")  # below these only routes are
_PACKED = ("text/", "application/json", "application/manifest+json", "image/svg+xml")
_NO_BUILD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Podium</title></head>
<body><h1>The dashboard is not built</h1>
<p>This checkout has no <code>api/static/index.html</code>. With Node.js at hand, <code>make dashboard</code> builds it;
then reload this page. Everything else of the service works: <code>podium --help</code>.</p></body></html>
"""


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    packed: bytes | None  # gzip
    media_type: str
    tag: str
    changed_ns: int


class StaticFiles:
    """Answers what no route knows. An ASGI application."""

    def __init__(self, root: Path = BUILD) -> None:
        self._root = root
        self._files: dict[PurePosixPath, _File] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        await self.answer(Request(scope))(scope, receive, send)

    def answer(self, request: Request) -> Response:
        """A file of the build, the page, or 404."""
        path = PurePosixPath(request.scope["path"].lstrip("/"))
        if request.method not in ("GET", "HEAD") or path.parts[:1] in [(name,) for name in _ROUTES]:
            return _nothing()
        file = self._file(path)
        if file is not None:
            return _sent(file, request, _FOR_EVER if path.parts[0] == HASHED else _ASK_AGAIN)
        if path.parts and (path.parts[0] == HASHED or "text/html" not in request.headers.get("accept", "")):
            return _nothing()
        page = self._file(PurePosixPath(PAGE))
        if page is None:
            return Response(_NO_BUILD, 404, media_type="text/html")
        return _sent(page, request, _ASK_AGAIN)

    def _file(self, path: PurePosixPath) -> _File | None:
        """By a name as a build has them; never one that leads out of it, or is hidden."""
        if not path.parts or any(part.startswith(".") or "\\" in part or "\0" in part for part in path.parts):
            return None
        where = self._root / path
        try:
            if not where.is_file() or where.is_symlink():
                return None
            changed_ns = where.stat().st_mtime_ns
            known = self._files.get(path)
            if known is None or known.changed_ns != changed_ns:
                known = self._files[path] = _read(where, changed_ns)
        except OSError:  # a name that is too long, a build that is just being replaced
            return None
        return known


def _read(where: Path, changed_ns: int) -> _File:
    content = where.read_bytes()
    media_type = mimetypes.guess_type(where.name)[0] or "application/octet-stream"
    packable = media_type.startswith(_PACKED)
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return _File(content, gzip.compress(content, mtime=0) if packable else None, media_type, tag, changed_ns)


def _sent(file: _File, request: Request, keep: str) -> Response:
    headers = {"Cache-Control": keep, "ETag": file.tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    packed = file.packed if "gzip" in request.headers.get("accept-encoding", "") else None
    if packed is not None:
        headers["Content-Encoding"] = "gzip"
    return Response(file.content if packed is None else packed, 200, headers, file.media_type)


def _nothing() -> Response:
    return problem(404, "The request cannot be answered", "Not Found")
