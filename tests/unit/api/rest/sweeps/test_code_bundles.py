"""Code bundles: anything but a valid zip file of regular files is 422, and nothing of it is written."""

from __future__ import annotations

import io
import json
import random
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from starlette.testclient import TestClient

from podium.sweep.specfile import code_bundles
from podium.sweep.values.errors import BundleError
from tests.service_rig import ServiceRig, assert_problem
from tests.specs import builtin_document, document

URL = "/api/v1/bundles"


def packed(*files: tuple[str, str], mode: int = stat.S_IFREG | 0o644) -> bytes:
    """A zip of these files, in this order, with any names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return content.getvalue()


@pytest.fixture(autouse=True)
def _allow_duplicate_names(recwarn: pytest.WarningsRecorder) -> None:
    """Duplicate names are tested: `zipfile` warns when a name is written twice."""


def test_bundle_is_unpacked_under_its_hash(client: TestClient, service: ServiceRig) -> None:
    content = packed(("train.py", "x = 1\n"), ("lib/deep/er.py", "y = 2\n"), ("sweep.yaml", "{}"))
    answer = client.post(URL, content=content)
    assert (answer.status_code, answer.json()) == (201, {"sha256": code_bundles.digest(content)})
    folder = service.data.bundle(code_bundles.digest(content))
    assert {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()} == {
        "train.py": "x = 1\n",
        "lib/deep/er.py": "y = 2\n",
        "sweep.yaml": "{}",
    }


def test_preloaded_package_is_checked_at_submission(client: TestClient) -> None:
    sha256 = client.post(URL, content=packed(("train.py", "def objective(trial): ..."))).json()["sha256"]
    program = {"function": "train:objective", "bundle": sha256}
    for preload, status in ((["json", "no_such_package"], 422), (["json", "__main__"], 422), (["json.decoder"], 201)):
        answer = client.post("/api/v1/sweeps", json=document(program={**program, "preload": preload}))
        assert answer.status_code == status
        if status == 422:
            (error,) = assert_problem(answer, 422)["errors"]
            assert error["location"] == ["program", "preload", "1"]
            assert f"package {preload[1]!r} is not installed in the service's Python environment" in error["message"]


def test_script_is_accepted_with_its_bundle(client: TestClient) -> None:
    sha256 = client.post(URL, content=packed(("train.py", ""))).json()["sha256"]
    script = {"script": "train.py", "metrics": {"score": "score ([0-9.]+)"}}
    answer = client.post("/api/v1/sweeps", json=document(program={**script, "bundle": sha256}))
    assert answer.status_code == 201


def test_environment_variable_missing_in_the_service_is_named(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATA", raising=False)
    program = {
        "command": ["python", "train.py", "${envvar:DATA}/a", "${envvar:OWN}", "${envvar:PODIUM_ARTIFACTS}/plot.png"],
        "bundle": client.post(URL, content=packed(("train.py", ""))).json()["sha256"],
        "env": {"OWN": "${envvar:DATA}", "HERE": "${envvar:PATH}"},
    }
    errors = assert_problem(client.post("/api/v1/sweeps", json=document(program=program)), 422)["errors"]
    assert [error["location"] for error in errors] == [["program", "env", "OWN"], ["program", "command", "2"]]
    assert all(
        "environment variable 'DATA' is not set in the service; set it and restart podium serve" in error["message"]
        for error in errors
    )
    monkeypatch.setenv("DATA", "/data")
    assert client.post("/api/v1/sweeps", json=document(program=program)).status_code == 201


def test_equal_content_is_one_bundle(client: TestClient, service: ServiceRig) -> None:
    content = packed(("train.py", ""))
    first, second = (client.post(URL, content=content) for _ in range(2))
    assert first.json() == second.json()
    assert second.status_code == 201
    sha256 = first.json()["sha256"]
    assert {path.name for path in service.data.bundles.iterdir()} == {sha256, f"{sha256}.zip"}


def test_archive_is_kept_and_written_again_if_it_is_missing(client: TestClient, service: ServiceRig) -> None:
    content = packed(("train.py", ""))
    archive = service.data.bundle_archive(client.post(URL, content=content).json()["sha256"])
    assert archive.read_bytes() == content
    archive.unlink()
    client.post(URL, content=content)
    assert archive.read_bytes() == content


def test_concurrent_uploads_of_equal_content_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = packed(*((f"{name}.py", name) for name in "abcd"))
    folder = tmp_path / code_bundles.digest(content)
    copied, files = shutil.copyfileobj, 0

    def interrupted(source: IO[bytes], target: IO[bytes], length: int) -> None:
        nonlocal files
        files += 1
        if files == 3:  # the other upload starts and ends during this one
            code_bundles.unpack(content, folder)
        copied(source, target, length)

    monkeypatch.setattr("podium.sweep.specfile.code_bundles.shutil.copyfileobj", interrupted)
    code_bundles.unpack(content, folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {f"{name}.py": name for name in "abcd"}
    assert list(tmp_path.iterdir()) == [folder]
    assert files == 8


def test_hash_of_a_packed_folder_covers_names_and_contents(
    client: TestClient, service: ServiceRig, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "pkg").mkdir(parents=True)
        (folder / "pkg" / "a.py").write_text("a")
        (folder / ".git").mkdir()
        (folder / ".git" / "secret").write_text(name)
    one, two = (code_bundles.pack(tmp_path / name) for name in ("one", "two"))
    assert one == two
    assert client.post(URL, content=one).status_code == 201
    unpacked = service.data.bundle(code_bundles.digest(one))
    assert [p.name for p in unpacked.rglob("*") if p.is_file()] == ["a.py"]


def _encrypted() -> bytes:
    content = bytearray(packed(("a.py", "x")))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + offset] |= 1
    return bytes(content)


def _unknown_method() -> bytes:
    content = bytearray(packed(("a.py", "x")))
    content[content.index(b"PK\1\2") + 10] = 99
    content[8] = 99
    return bytes(content)


def _lies_about_its_size() -> bytes:
    content = bytearray(packed(("a.py", "x" * 1000)))
    start = content.index(b"PK\1\2") + 24
    content[start : start + 4] = (10).to_bytes(4, "little")
    return bytes(content)


def _lies_at_its_end() -> bytes:
    """Valid except for one byte of the last file."""
    content = bytearray(packed(("a.py", "x" * 1000), ("b.py", "y")))
    content[content.index(b"PK\1\2") - 1] ^= 0xFF
    return bytes(content)


WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "a way out": (lambda: packed(("../evil.py", "")), "the path leaves the bundle"),
    "a way out in the middle": (lambda: packed(("a/../../evil.py", "")), "the path leaves the bundle"),
    "an absolute path": (lambda: packed(("/tmp/evil.py", "")), "the path leaves the bundle"),
    "another system's path": (lambda: packed(("..\\evil.py", "")), "the path leaves the bundle"),
    "a link": (lambda: packed(("link", "/etc/passwd"), mode=stat.S_IFLNK | 0o777), "is a link"),
    "a device": (lambda: packed(("dev", ""), mode=stat.S_IFCHR | 0o666), "special file"),
    "a pipe": (lambda: packed(("pipe", ""), mode=stat.S_IFIFO | 0o666), "special file"),
    "a name twice": (lambda: packed(("a.py", "1"), ("a.py", "2")), "is a duplicate"),
    "a name twice but for case": (lambda: packed(("a.py", "1"), ("A.PY", "2")), "is a duplicate"),
    "a name twice but for how its accent is written": (
        lambda: packed(("\u00e9.py", "1"), ("e\u0301.py", "2")),
        "is a duplicate",
    ),
    "a folder twice but for case": (lambda: packed(("lib/a.py", "1"), ("Lib/b.py", "2")), "with two spellings"),
    "a file that is a folder but for case": (lambda: packed(("a", "1"), ("A/b", "2")), "is both a file and a folder"),
    "damage at its end": (_lies_at_its_end, "not a valid zip"),
    "a name twice but for dots": (lambda: packed(("a.py", "1"), ("./a.py", "2")), "is a duplicate"),
    "a file that is a folder": (lambda: packed(("a", "1"), ("a/b", "2")), "is both a file and a folder"),
    "a name of dots": (lambda: packed((".", "1")), "empty or too long"),
    "a name too long": (lambda: packed(("a" * 300, "1")), "empty or too long"),
    "a name too long in bytes": (lambda: packed(("ä" * 200, "1")), "empty or too long"),
    "a path too long": (lambda: packed(("a/" * 2000 + "b", "1")), "empty or too long"),
    "our name": (lambda: packed(("podium/__init__.py", "")), "reserved"),
    "our name, hidden": (lambda: packed(("./podium.py", "")), "reserved"),
    "too many files": (lambda: packed(*((f"f{n}", "") for n in range(code_bundles.MAX_FILES + 1))), "more than 10,000"),
    "a size that is a lie": (_lies_about_its_size, ""),
    "a password": (_encrypted, "not a valid zip"),
    "an unknown method": (_unknown_method, "not a valid zip"),
    "no zip": (lambda: b"hello", "not a valid zip"),
    "nothing": (lambda: b"", "not a valid zip"),
    "half a zip": (lambda: packed(("a.py", "x" * 1000))[:-30], "not a valid zip"),
}


@pytest.mark.parametrize(("make", "words"), WRONG.values(), ids=WRONG)
def test_invalid_bundle_is_422_and_nothing_is_written(
    client: TestClient, service: ServiceRig, make: Callable[[], bytes], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(service.data.root.parent.rglob("*.py"))
    monkeypatch.setattr("podium.sweep.specfile.code_bundles.tempfile.mkdtemp", None)  # not even temporarily
    assert_problem(client.post(URL, content=make()), 422, words)
    assert list(service.data.bundles.iterdir()) == []
    assert sorted(service.data.root.parent.rglob("*.py")) == before


def test_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    content = packed(*((f"zeros{n}", "\0" * (1 << 18)) for n in range(5)))
    assert len(content) < 1 << 13
    with pytest.raises(BundleError, match="exceeds 1 MB when unpacked"):
        code_bundles.unpack(content, tmp_path / "bundle", max_unpacked_bytes=1 << 20)
    assert list(tmp_path.iterdir()) == []


def test_zip_directory_of_a_million_files_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    entry = packed(("a", ""))
    start, end = entry.index(b"PK\1\2"), entry.index(b"PK\5\6")
    content = entry[:start] + entry[start:end] * 1_000_000 + entry[end:]
    monkeypatch.setattr("podium.sweep.specfile.code_bundles.zipfile.ZipFile", None)
    with pytest.raises(BundleError, match="more than 10,000 files"):
        code_bundles.unpack(content, tmp_path / "bundle")


def test_bundle_above_the_limit_is_413(client: TestClient) -> None:
    assert_problem(client.post(URL, content=bytes(code_bundles.MAX_BYTES + 1)), 413, "67,108,864 bytes")


def test_bundle_may_be_larger_than_a_json_body(client: TestClient) -> None:
    noise = random.Random(0).randbytes(2 << 20).hex()  # a hex digit is half a byte, compressed
    assert client.post(URL, content=packed(("noise", noise))).status_code == 201


def test_bundle_with_changed_bytes_is_accepted_or_422(client: TestClient, service: ServiceRig) -> None:
    sound = packed(("train.py", "x = 1\n" * 50), ("lib/a.py", "y"))
    chance = random.Random(1)
    for _ in range(500):
        content = bytearray(sound)
        for _ in range(chance.randint(1, 3)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        answer = client.post(URL, content=bytes(content))
        assert answer.status_code in (201, 422), answer.text
        assert service.data.bundle(code_bundles.digest(bytes(content))).exists() == (answer.status_code == 201)
    assert not list(service.data.bundles.glob(".*"))


def test_error_for_too_large_code_names_the_largest_file(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    (tmp_path / "weights.bin").write_bytes(bytes(3 << 20))
    words = r"exceeds 2 MB; the largest file, weights\.bin, has 3\.0 MB; move data elsewhere"
    with pytest.raises(BundleError, match=words):
        code_bundles.pack(tmp_path, max_unpacked_bytes=2 << 20)
    (tmp_path / "weights.bin").rename(tmp_path / ".weights")
    code_bundles.pack(tmp_path, max_unpacked_bytes=2 << 20)


def test_code_of_a_submitted_document_is_checked_as_for_a_file(client: TestClient) -> None:
    sha256 = client.post(URL, content=packed(("train.py", "def objective(trial): ..."))).json()["sha256"]
    wrong = document(program={"function": "train:objektive", "bundle": sha256})
    answers = [
        client.post("/api/v1/sweeps", json=wrong),
        client.post("/api/v1/sweep-files/submit", json={"text": json.dumps(wrong)}),
    ]
    errors = [assert_problem(answer, 422)["errors"] for answer in answers]
    assert errors[0] == errors[1]
    assert errors[0][0]["location"] == ["program", "function"]
    assert errors[0][0]["message"] == "train.py does not define 'objektive'; did you mean 'objective'?"


def test_relative_data_path_is_refused_in_documents_and_files(client: TestClient) -> None:
    wrong = builtin_document(program={"model": "mlp", "data": {"file": "rows.csv", "target": "y"}})
    answers = [
        client.post("/api/v1/sweeps", json=wrong),
        client.post("/api/v1/sweep-files/submit", json={"text": json.dumps(wrong)}),
    ]
    for answer in answers:
        (error,) = assert_problem(answer, 422)["errors"]
        assert (error["location"], "/data/rows.csv" in error["message"]) == (["program", "data", "file"], True)
