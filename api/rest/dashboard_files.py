"""Serves the dashboard's build, and its page for every path that no route matches; api.

Public: the files contain no secrets. Files are read and compressed once, and again when they change.
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

from podium.api.http.problem_details import ProblemType, problem

BUILD = Path(__file__).parents[1] / "static"
PAGE = "index.html"
HASHED = "assets"  # file names contain a hash of the content
_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_API_PREFIXES = ("api", "v2", "schemas", "metrics")  # paths of routes only
_COMPRESSIBLE = ("text/", "application/json", "application/manifest+json", "image/svg+xml")
_NO_BUILD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Podium</title></head>
<body><h1>The dashboard is not built</h1>
<p>This checkout has no <code>api/static/index.html</code>. Run <code>make dashboard</code> (needs Node.js), then reload
this page. The rest of the service works without it: <code>podium --help</code>.</p></body></html>
"""


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    gzipped: bytes | None
    media_type: str
    etag: str
    mtime_ns: int


class DashboardFiles:
    """An ASGI app for all paths that no route matches."""

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
        if request.method not in ("GET", "HEAD") or path.parts[:1] in [(name,) for name in _API_PREFIXES]:
            return _not_found()
        file = self._file(path)
        if file is not None:
            return _response(file, request, _IMMUTABLE if path.parts[0] == HASHED else _REVALIDATE)
        if path.parts and (path.parts[0] == HASHED or "text/html" not in request.headers.get("accept", "")):
            return _not_found()
        page = self._file(PurePosixPath(PAGE))
        if page is None:
            return Response(_NO_BUILD, 404, media_type="text/html")
        return _response(page, request, _REVALIDATE)

    def _file(self, path: PurePosixPath) -> _File | None:
        """A file of the build; None for hidden files and paths outside of it."""
        if not path.parts or any(part.startswith(".") or "\\" in part or "\0" in part for part in path.parts):
            return None
        where = self._root / path
        try:
            if not where.is_file() or where.is_symlink():
                return None
            mtime_ns = where.stat().st_mtime_ns
            known = self._files.get(path)
            if known is None or known.mtime_ns != mtime_ns:
                known = self._files[path] = _read(where, mtime_ns)
        except OSError:  # a name that is too long, or a build that is being replaced
            return None
        return known


def _read(where: Path, mtime_ns: int) -> _File:
    content = where.read_bytes()
    media_type = mimetypes.guess_type(where.name)[0] or "application/octet-stream"
    compressible = media_type.startswith(_COMPRESSIBLE)
    etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    gzipped = gzip.compress(content, mtime=0) if compressible else None
    return _File(content, gzipped=gzipped, media_type=media_type, etag=etag, mtime_ns=mtime_ns)


def _response(file: _File, request: Request, cache_control: str) -> Response:
    headers = {"Cache-Control": cache_control, "ETag": file.etag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    gzipped = file.gzipped if "gzip" in request.headers.get("accept-encoding", "") else None
    if gzipped is not None:
        headers["Content-Encoding"] = "gzip"
    return Response(file.content if gzipped is None else gzipped, 200, headers, file.media_type)


def _not_found() -> Response:
    return problem(ProblemType.NOT_FOUND, "Not Found")
