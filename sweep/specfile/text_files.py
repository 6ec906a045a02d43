"""The text of a file that a user wrote, or why it is none: too large, binary, another encoding; cli."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.values.errors import InvalidSpecError, Problem

MAX_BYTES = 1 << 20
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_text(path: Path) -> str:
    """The text of a sweep file, without the mark that some editors begin it with. Raises `InvalidSpecError`."""
    try:
        if path.exists() and not path.is_file():
            raise unreadable(path, "this is a folder; name a file" if path.is_dir() else "this is not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from error
    if len(content) > MAX_BYTES:
        raise unreadable(path, f"this file is above {MAX_BYTES >> 20} MB; a sweep file is not: is it another one?")
    return _decoded(path, content)


def _decoded(path: Path, content: bytes) -> str:
    if encoding := _OTHER_ENCODINGS.get(content[:2]):
        raise unreadable(path, f"this is {encoding}; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(
            path, f"not UTF-8 text (byte {error.start})", content[: error.start].count(b"\n") + 1
        ) from None
    if "\0" in text:
        raise unreadable(path, "this is a binary file, not text")
    if not text.strip():
        raise unreadable(path, "the file is empty; a sweep file is a mapping of keys to values")
    return text


def unreadable(path: Path, message: str, line: int | None = None) -> InvalidSpecError:
    """One problem with the whole file."""
    return InvalidSpecError([Problem((), message, line)], str(path))
