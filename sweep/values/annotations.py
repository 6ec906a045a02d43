"""What people may write about a trial: a note, and tags to find it by; pure, api."""

from __future__ import annotations

import re
from collections.abc import Iterable

from podium.sweep.values.errors import InvalidSpecError, Problem

MAX_NOTE = 10_000  # characters
MAX_TAG = 50  # characters
MAX_TAGS = 20  # of one trial
_TAG = re.compile(r"[^\s,\"'\x00-\x1f\x7f]+")


def checked_note(text: str) -> str:
    """The note without blank lines around it; "" is none. Raises `InvalidSpecError`."""
    note = text.replace("\r\n", "\n").strip()
    if len(note) > MAX_NOTE:
        raise _wrong("note", f"{len(note):,} characters; a note has at most {MAX_NOTE:,}")
    if not _is_text(note):
        raise _wrong("note", "has a character that cannot be stored")
    return note


def checked_tags(tags: Iterable[str], where: str = "tags") -> list[str]:
    """Each tag once, in the order of the alphabet. Raises `InvalidSpecError`."""
    found = sorted({tag.strip() for tag in tags})
    for tag in found:
        if not _TAG.fullmatch(tag) or not _is_text(tag) or len(tag) > MAX_TAG:
            rule = f"1 to {MAX_TAG} characters without spaces, commas or quotation marks"
            raise _wrong(where, f"{tag[: MAX_TAG + 10]!r} is no tag: {rule}")
        if tag.startswith("-"):
            raise _wrong(where, f"{tag!r} is no tag: - at the beginning means `not` in a filter")
    check_count(found, where)
    return found


def check_count(tags: Iterable[str], where: str = "tags") -> None:
    """Raises `InvalidSpecError` for more tags than one trial may have."""
    count = sum(1 for _ in tags)
    if count > MAX_TAGS:
        raise _wrong(where, f"{count} tags; a trial has at most {MAX_TAGS}")


def _is_text(text: str) -> bool:
    """Half a character, or a zero byte, cannot be stored."""
    return "\x00" not in text and text.encode(errors="replace").decode() == text


def _wrong(where: str, message: str) -> InvalidSpecError:
    return InvalidSpecError([Problem((where,), message)], "")
