"""The OpenAPI document, as read by the dashboard's build."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from podium.api.rest.openapi import document


def test_document_is_sorted_and_deterministic() -> None:
    first = document()

    found = json.loads(first)
    assert first == document() == json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert "/api/v1/sweeps" in found["paths"]


def test_document_is_written_to_a_given_file_or_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "podium.api.rest.openapi"]

    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    written = subprocess.run([*command, str(tmp_path / "api.json")], capture_output=True, text=True, check=True)
    wrong = subprocess.run([*command, "a", "b"], capture_output=True, text=True, check=False)

    assert (tmp_path / "api.json").read_text() == printed.stdout == document()
    assert written.stdout == ""
    assert (wrong.returncode, wrong.stderr) == (1, "usage: python -m podium.api.rest.openapi [FILE]\n")
