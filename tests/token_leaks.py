"""The final check of every running service: only the token files contain its tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory

_LARGE_BYTES = 64 << 20  # arrays and weights


def assert_no_token_left(data: DataDirectory) -> None:
    """Raises `AssertionError` naming each file that contains the admin token or Ray's token."""
    tokens = [path for path in (data.admin_token, data.ray_token) if path.is_file()]
    secrets = {path.name: path.read_bytes().strip() for path in tokens}
    found = [
        f"{path} has what {name} has"
        for path in _files(data.root)
        if path not in tokens
        for name, secret in secrets.items()
        if secret and secret in path.read_bytes()
    ]
    assert not found, "\n".join(found)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGE_BYTES:
            yield path
