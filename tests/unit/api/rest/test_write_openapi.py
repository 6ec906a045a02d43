"""The OpenAPI document, as read by the dashboard's build."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from podium.api.rest import write_openapi


@pytest.fixture(scope="module")
def document() -> str:
    return write_openapi.document()


def test_document_is_sorted(document: str) -> None:
    found = json.loads(document)
    assert document == json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert "/api/v1/sweeps" in found["paths"]


def test_each_operation_names_the_role_that_it_requires(document: str) -> None:
    paths = json.loads(document)["paths"]

    roles = {
        (method, path): each["x-required-role"] for path, all_of in paths.items() for method, each in all_of.items()
    }
    assert roles["get", "/api/v1/sweeps"] == "viewer"
    assert roles["post", "/api/v1/sweeps"] == "submitter"
    assert roles["get", "/api/v1/tokens"] == "admin"
    assert roles["get", "/healthz"] == "public"
    assert {key for key, role in roles.items() if role == "public"} == {
        (method, path) for path, all_of in paths.items() for method, each in all_of.items() if not each.get("security")
    }


def test_same_document_is_written_to_a_given_file_or_printed(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["openapi"])
    write_openapi.main()
    printed = capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["openapi", str(tmp_path / "api.json")])
    write_openapi.main()
    monkeypatch.setattr(sys, "argv", ["openapi", "a", "b"])
    with pytest.raises(SystemExit) as caught:
        write_openapi.main()

    assert (tmp_path / "api.json").read_text() == printed == document
    assert capsys.readouterr().out == ""
    assert caught.value.code == "usage: python -m podium.api.rest.write_openapi [FILE]"
