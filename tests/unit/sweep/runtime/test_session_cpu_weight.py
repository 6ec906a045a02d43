"""The priority of a session, and a kernel that accepts few changes at a time."""

from __future__ import annotations

import errno
import os

import pytest

from podium.sweep.runtime.session_cpu_weight import lower_priority_of_session


@pytest.mark.parametrize(
    ("error", "is_done"),
    [(None, True), (errno.EAGAIN, False), (errno.EPERM, True)],
    ids=["accepted", "too many changes", "refused"],
)
def test_only_a_change_that_came_too_early_is_left_to_do(
    monkeypatch: pytest.MonkeyPatch, error: int | None, is_done: bool
) -> None:
    written: list[bytes] = []

    def write(descriptor: int, content: bytes) -> int:
        if error is not None:
            raise OSError(error, os.strerror(error))
        written.append(content)
        return len(content)

    monkeypatch.setattr(os, "open", lambda *_: os.dup(2))
    monkeypatch.setattr(os, "write", write)
    assert lower_priority_of_session(5) is is_done
    assert written == ([b"5"] if error is None else [])


def test_nothing_is_left_to_do_without_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> int:
        raise FileNotFoundError(errno.ENOENT, "no groups")

    monkeypatch.setattr(os, "open", missing)
    assert lower_priority_of_session(5)
