"""A command in a message works unchanged when it is copied into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from podium.api.client.shell_quoted_commands import command


@pytest.mark.parametrize("name", ["data", "my data", "it's", "$HOME"])
def test_command_names_a_nondefault_data_directory(name: str) -> None:
    text = command(f"/tmp/{name}", "sweep", "show", 3)
    assert shlex.split(text) == ["podium", "sweep", "show", "3", "--data-dir", f"/tmp/{name}"]


def test_command_omits_the_default_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PODIUM_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert command("podium-data", "serve") == command(tmp_path / "podium-data", "serve") == "podium serve"
    monkeypatch.setenv("PODIUM_DATA_DIR", str(tmp_path / "other"))
    assert command(tmp_path / "other", "serve") == "podium serve"
