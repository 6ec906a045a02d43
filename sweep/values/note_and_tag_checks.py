"""Checks the note and the tags that users attach to a trial; api process."""

from __future__ import annotations

import re
from collections.abc import Iterable

from podium.sweep.values.errors import InvalidSpecError, Problem

MAX_NOTE = 10_000  # characters
MAX_TAG = 50  # characters
MAX_TAGS = 20  # of one trial
_TAG = re.compile(r"[^\s,\"'\x00-\x1f\x7f]+")


def checked_note(text: str) -> str:
    """The note without surrounding whitespace; "" means no note. Raises `InvalidSpecError`."""
    note = text.replace("\r\n", "\n").strip()
    if len(note) > MAX_NOTE:
        raise _wrong("note", f"must have at most {MAX_NOTE:,} characters, got {len(note):,}")
    if not _is_text(note):
        raise _wrong("note", "contains a NUL or a lone surrogate (invalid Unicode)")
    return note


def checked_tags(tags: Iterable[str], where: str = "tags") -> list[str]:
    """The distinct tags, sorted. Raises `InvalidSpecError`."""
    found = sorted({tag.strip() for tag in tags})
    for tag in found:
        if not _TAG.fullmatch(tag) or not _is_text(tag) or len(tag) > MAX_TAG:
            rule = f"1 to {MAX_TAG} characters without spaces, commas or quotation marks"
            raise _wrong(where, f"invalid tag {tag[: MAX_TAG + 10]!r}: must be {rule}")
        if tag.startswith("-"):
            raise _wrong(where, f"invalid tag {tag!r}: must not begin with -, which negates a term in filters")
    check_count(found, where)
    return found


def check_count(tags: Iterable[str], where: str = "tags") -> None:
    """Raises `InvalidSpecError` for more than `MAX_TAGS` tags."""
    count = sum(1 for _ in tags)
    if count > MAX_TAGS:
        raise _wrong(where, f"must have at most {MAX_TAGS} tags, got {count}")


def _is_text(text: str) -> bool:
    """Whether it can be stored: valid Unicode without NUL."""
    return "\x00" not in text and text.encode(errors="replace").decode() == text


def _wrong(where: str, message: str) -> InvalidSpecError:
    return InvalidSpecError([Problem((where,), message)], "")
