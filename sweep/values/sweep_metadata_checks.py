"""Checks what users write about sweeps and name them: names, descriptions, projects; CLI and api process."""

from __future__ import annotations

from podium.sweep.values.errors import InvalidSpecError, Problem

MAX_SWEEP_NAME = 120  # characters
MAX_DESCRIPTION = 20_000  # characters
MAX_PROJECT = 128  # characters


def checked_sweep_name(text: str) -> str:
    """The name without surrounding whitespace. Raises `InvalidSpecError`."""
    return _checked_line("name", text, MAX_SWEEP_NAME, empty=False)


def checked_project(text: str) -> str:
    """The name of a project without surrounding whitespace; "" means no project. Raises `InvalidSpecError`."""
    return _checked_line("project", text, MAX_PROJECT, empty=True)


def checked_description(text: str) -> str:
    """The description without surrounding whitespace; "" means none. Raises `InvalidSpecError`."""
    description = text.replace("\r\n", "\n").strip()
    if len(description) > MAX_DESCRIPTION:
        raise _wrong("description", f"must have at most {MAX_DESCRIPTION:,} characters, got {len(description):,}")
    if not _is_text(description):
        raise _wrong("description", "contains a NUL or a lone surrogate (invalid Unicode)")
    return description


def _checked_line(where: str, text: str, most: int, *, empty: bool) -> str:
    line = text.strip()
    if not line and not empty:
        raise _wrong(where, f"must have 1 to {most} characters")
    if len(line) > most:
        raise _wrong(where, f"must have at most {most} characters, got {len(line)}")
    if not _is_text(line) or any(ord(character) < 32 or ord(character) == 127 for character in line):
        raise _wrong(where, "must be one line of text without control characters")
    return line


def _is_text(text: str) -> bool:
    """Whether it can be stored: valid Unicode without NUL."""
    return "\x00" not in text and text.encode(errors="replace").decode() == text


def _wrong(where: str, message: str) -> InvalidSpecError:
    return InvalidSpecError([Problem((where,), message)], "")
