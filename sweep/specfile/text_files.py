"""Reads a user's text file and rejects large, binary and non-UTF-8 files; CLI and api process."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.values.errors import InvalidSpecError, Problem

MAX_BYTES = 1 << 20
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_text(path: Path) -> str:
    """The text of a sweep file, without a byte order mark. Raises `InvalidSpecError`."""
    try:
        if path.exists() and not path.is_file():
            raise invalid_file_error(path, "is a folder, not a file" if path.is_dir() else "is not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise invalid_file_error(path, error.strerror or str(error)) from error
    if len(content) > MAX_BYTES:
        raise invalid_file_error(path, f"exceeds {MAX_BYTES >> 20} MB, too large for a sweep file")
    return _decode(path, content)


def _decode(path: Path, content: bytes) -> str:
    if encoding := _OTHER_ENCODINGS.get(content[:2]):
        raise invalid_file_error(path, f"has the encoding {encoding}; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid_file_error(
            path, f"not UTF-8 text (byte {error.start})", content[: error.start].count(b"\n") + 1
        ) from None
    if "\0" in text:
        raise invalid_file_error(path, "is a binary file, not text")
    if not text.strip():
        raise invalid_file_error(path, "the file is empty; a sweep file must be a mapping")
    return text


def invalid_file_error(path: Path, message: str, line: int | None = None) -> InvalidSpecError:
    """An error about the file as a whole, or a line of it."""
    return InvalidSpecError([Problem((), message, line)], str(path))
