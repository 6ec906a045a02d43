"""Previews of the files of a trial over REST: images, tables and text, bounded in size, and never run; api.

The content decides what a file is, not its name. SVG and HTML are text: nothing that a trial wrote is rendered as a
document, and an image is sent with a policy that lets it load and run nothing.
"""

from __future__ import annotations

import csv
import io
import itertools
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.trials.trial_file_access import open_kept
from podium.db.queries import trial_artifact_rows
from podium.db.stores import trial_reader
from podium.sweep.runtime.attempt_directory import ARTIFACTS
from podium.sweep.values import logged_image_names
from podium.sweep.values.errors import ConflictError

router = APIRouter(prefix="/api/v1/trials", tags=["trials"])
MAX_TEXT_BYTES = 64 << 10
MAX_IMAGE_BYTES = 16 << 20
MAX_ROWS, MAX_COLUMNS, MAX_CELL = 100, 30, 200
_IMAGES = f"{ARTIFACTS}/{logged_image_names.FOLDER}/"
_SANDBOX = "default-src 'none'; sandbox"
Name = Annotated[str, Query(min_length=1, max_length=300, description="of the file, such as `artifacts/plot.png`")]


class FilePreview(View):
    """The beginning of a file."""

    kind: Literal["image", "table", "text", "none"]  # none: binary, too large for an image, or empty
    size_bytes: int
    text: str | None  # of a text file
    rows: list[list[str]] | None  # of a table; the first row is usually its header
    is_complete: bool  # the preview is the whole file
    note: str  # why there is no preview, or what is left out


class LoggedImageView(View):
    """The steps at which a trial logged an image of one name."""

    name: str
    steps: list[int]
    files: list[str]  # by step: pass it as `name` to `/image`
    size_bytes: int  # of all


@router.get("/{trial_id}/preview", dependencies=[viewer])
def preview_file(trial_id: RowId, name: Name, service: ServiceContext = context) -> FilePreview:
    """The beginning of a file as text or as a table, or that it is an image. 503 if its object store fails."""
    kept = open_kept(service, trial_id, name)
    with kept.file as file:
        start = file.read(MAX_TEXT_BYTES + 1)
    return _preview(start, name, kept.row.size_bytes)


@router.get("/{trial_id}/image", dependencies=[viewer], response_class=Response)
def show_image(trial_id: RowId, name: Name, service: ServiceContext = context) -> Response:
    """An image of a trial: PNG, JPEG, GIF or WebP, by its content. 409 for another file, or above 16 MB."""
    kept = open_kept(service, trial_id, name)
    with kept.file as file:
        content = file.read(MAX_IMAGE_BYTES + 1)
    suffix = logged_image_names.suffix_of(content)
    if suffix is None:
        raise ConflictError(f"{name} of trial {trial_id} is not a PNG, JPEG, GIF or WebP image; download it instead")
    if len(content) > MAX_IMAGE_BYTES:
        raise ConflictError(f"{name} of trial {trial_id} has more than {MAX_IMAGE_BYTES >> 20} MB; download it instead")
    headers = {
        "Content-Security-Policy": _SANDBOX,
        "Content-Disposition": "inline",
        "Cache-Control": "private, max-age=60",
        "ETag": f'"{kept.row.sha256}"',
    }
    return Response(content, media_type=logged_image_names.MEDIA_TYPES[suffix], headers=headers)


@router.get("/{trial_id}/images", dependencies=[viewer])
def list_images(trial_id: RowId, service: ServiceContext = context) -> list[LoggedImageView]:
    """The images that a trial logged with `log_image` or `wandb.Image`, by name and step."""
    with service.database.read() as connection:
        trial_reader.check_exists(connection, trial_id)
        rows = trial_artifact_rows.artifacts_of(connection, trial_id)
    found: dict[str, list[tuple[int, str, int]]] = {}
    for row in rows:
        image = logged_image_names.parse(row.name.removeprefix(_IMAGES)) if row.name.startswith(_IMAGES) else None
        if image is not None and row.removed is None:
            found.setdefault(image.name, []).append((image.step, row.name, row.size_bytes))
    return [_logged(name, sorted(found[name])) for name in sorted(found)]


def _logged(name: str, files: list[tuple[int, str, int]]) -> LoggedImageView:
    return LoggedImageView(
        name=name,
        steps=[step for step, _, _ in files],
        files=[file for _, file, _ in files],
        size_bytes=sum(size for _, _, size in files),
    )


def _preview(start: bytes, name: str, size: int) -> FilePreview:
    is_complete = len(start) <= MAX_TEXT_BYTES

    def view(kind: Literal["image", "table", "text", "none"], note: str = "", **content: object) -> FilePreview:
        values = {"text": None, "rows": None, "is_complete": is_complete and not note, **content}
        return FilePreview(kind=kind, size_bytes=size, note=note, **values)

    if logged_image_names.suffix_of(start) is not None:
        if size > MAX_IMAGE_BYTES:
            return view("none", f"an image of more than {MAX_IMAGE_BYTES >> 20} MB")
        return view("image")
    text = _text(start[:MAX_TEXT_BYTES], is_complete=is_complete)
    if text is None:
        return view("none", "a binary file")
    if not text:
        return view("none", "an empty file")
    left_out = "" if is_complete else f"the first {MAX_TEXT_BYTES >> 10} KB"
    if name.lower().endswith((".csv", ".tsv")):
        rows, cut = _rows(text, is_complete=is_complete, delimiter="\t" if name.lower().endswith(".tsv") else ",")
        return view("table", cut, rows=rows)
    return view("text", left_out, text=text)


def _text(content: bytes, *, is_complete: bool) -> str | None:
    """None for a binary file. A character that the end of the preview cuts is left out."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        cut = not is_complete and error.start > len(content) - 4
        return content[: error.start].decode() if cut else None


def _rows(text: str, *, is_complete: bool, delimiter: str) -> tuple[list[list[str]], str]:
    """The first rows and columns of a table, and what is left out."""
    lines = io.StringIO(text if is_complete else text[: text.rfind("\n") + 1])
    try:
        read = list(itertools.islice(csv.reader(lines, delimiter=delimiter), MAX_ROWS + 1))
    except csv.Error:
        read = [[line] for line in itertools.islice(text.splitlines(), MAX_ROWS + 1)]
    more = len(read) > MAX_ROWS or not is_complete
    wide = any(len(row) > MAX_COLUMNS for row in read[:MAX_ROWS])
    long = any(len(cell) > MAX_CELL for row in read[:MAX_ROWS] for cell in row)
    parts = [f"the first {min(len(read), MAX_ROWS)} rows"] if more else []
    parts += [f"the first {MAX_COLUMNS} columns"] if wide else []
    parts += ["long cells are cut"] if long else []
    return [[_cell(cell) for cell in row[:MAX_COLUMNS]] for row in read[:MAX_ROWS]], ", ".join(parts)


def _cell(text: str) -> str:
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"
