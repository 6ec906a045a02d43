"""Provenance of a sweep: git commit, command line without secrets, and packages; sent, stored and shown."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from podium.api.cli.terminal import sweep_output
from podium.sweep.runtime.package_versions import environment
from podium.sweep.runtime.submission_provenance import (
    HEADER,
    MAX_HEADER,
    MAX_WORDS,
    REDACTED,
    Provenance,
    provenance_of,
    provenance_of_document,
    redact,
)
from tests.service_rig import ServiceRig
from tests.specs import builtin_document

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("x = 1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def test_provenance_contains_commit_and_dirty_flag(repository: Path) -> None:
    found = provenance_of(repository, ["podium"])
    assert found.git_commit is not None and len(found.git_commit) == 40
    assert found.git_dirty is False
    (repository / "train.py").write_text("x = 2\n")
    assert provenance_of(repository, ["podium"]) == found.model_copy(update={"git_dirty": True})


def test_untracked_file_makes_repository_dirty(repository: Path) -> None:
    (repository / "new.py").touch()
    assert provenance_of(repository).git_dirty is True


def test_generated_files_do_not_make_repository_dirty(repository: Path) -> None:
    for name in ("podium-data", "__pycache__"):
        (repository / name).mkdir()
        (repository / name / "file").touch()
    assert provenance_of(repository).git_dirty is False


def test_provenance_is_unknown_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for code in (tmp_path, tmp_path / "missing", None):
        assert (provenance_of(code).git_commit, provenance_of(code).git_dirty) == (None, None)
    monkeypatch.setenv("PATH", "/nowhere")
    assert provenance_of(tmp_path).git_commit is None


def test_hanging_git_does_not_delay_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert provenance_of(tmp_path, git_s=0.2).git_commit is None


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["/opt/bin/podium", "sweep", "run", "x.yaml"], ["podium", "sweep", "run", "x.yaml"]),
        (["podium", "--token", "abc", "run"], ["podium", "--token", REDACTED, "run"]),
        (["podium", "--api-key=abc"], ["podium", f"--api-key={REDACTED}"]),
        (["a.py", "WANDB_API_KEY=abc"], ["a.py", f"WANDB_API_KEY={REDACTED}"]),
        (["a.py", "postgresql://ann:pw@db/x"], ["a.py", f"postgresql://{REDACTED}@db/x"]),
        (["a.py", "tokens.csv", "--password", "--quiet"], ["a.py", "tokens.csv", "--password", "--quiet"]),
        ([], []),
    ],
)
def test_secrets_in_command_line_are_redacted(argv: list[str], shown: list[str]) -> None:
    assert redact(argv) == shown


def test_long_command_line_is_truncated(repository: Path) -> None:
    found = provenance_of(None, ["podium", *["\N{SNOWMAN}" * 1000] * 1000])
    assert len(found.command) == MAX_WORDS + 1
    header = found.to_header()
    assert len(header) <= MAX_HEADER and header.isascii()
    read = Provenance.from_header(header)
    assert read is not None and read.command == found.command[: len(read.command)]


def test_sweep_shows_client_provenance_and_packages(service: ServiceRig) -> None:
    client = service.client()
    sent_by_client = Provenance(git_commit=COMMIT, git_dirty=True, command=["podium", "sweep", "run"])
    sent = client.post("/api/v1/sweeps", json=builtin_document(), headers={HEADER: sent_by_client.to_header()})
    assert sent.status_code == 201
    shown = sent.json()["provenance"]
    assert shown == {**sent_by_client.model_dump(), "packages_sha256": environment().sha256}
    packages = client.get(f"/api/v1/sweeps/{sent.json()['id']}/packages")
    assert packages.headers["content-type"].startswith("text/plain")
    assert packages.text == environment().packages
    assert any(line.startswith("pydantic==") for line in packages.text.splitlines())
    assert sweep_output.provenance(sent.json())[:2] == [
        f"code: git commit {COMMIT} with uncommitted changes",
        "submitted by: podium sweep run",
    ]


def test_equal_packages_are_stored_once(service: ServiceRig) -> None:
    client = service.client()
    ids = [client.post("/api/v1/sweeps", json=builtin_document()).json()["id"] for _ in range(2)]
    assert len({client.get(f"/api/v1/sweeps/{sweep_id}/packages").text for sweep_id in ids}) == 1
    with service.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM environments").scalar_one() == 1


def test_provenance_is_unknown_without_client_header(service: ServiceRig) -> None:
    shown = service.client().post("/api/v1/sweeps", json=builtin_document()).json()["provenance"]
    assert (shown["git_commit"], shown["git_dirty"], shown["command"]) == (None, None, [])
    seeded = service.sweep()
    assert service.client().get(f"/api/v1/sweeps/{seeded}/packages").status_code == 404
    assert service.client().get("/api/v1/sweeps/99/packages").status_code == 404


@pytest.mark.parametrize("sent_by_client", ["x", "[]", '{"git_commit": "not hex"}', '{"more": 1}'])
def test_invalid_provenance_header_is_rejected(service: ServiceRig, sent_by_client: str) -> None:
    answer = service.client().post("/api/v1/sweeps", json=builtin_document(), headers={HEADER: sent_by_client})
    assert (answer.status_code, HEADER in answer.json()["detail"]) == (400, True)


def test_provenance_of_document_is_that_of_its_code(repository: Path) -> None:
    found = provenance_of_document({"program": {"function": "train:objective", "code": str(repository)}})
    assert found.git_commit is not None and found.command
    assert provenance_of_document({"program": {"model": "mlp"}}).git_commit is None
