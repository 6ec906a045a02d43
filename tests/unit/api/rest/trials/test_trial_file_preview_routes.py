"""Previews of the files of trials: by content, bounded, and never run."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from podium.api.rest.trials import trial_file_preview_routes
from podium.db.access.tokens import Role
from podium.sweep.lifecycle.database_changes import ArtifactSaved
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.logged_image_names import FOLDER, file_name
from podium.sweep.values.slot_events import Saved
from tests.service_rig import ServiceRig, assert_problem

TRIALS = "/api/v1/trials"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def _save(service: ServiceRig, trial_id: int, number: int, name: str, content: bytes) -> str:
    path = service.attempt(1, number).artifacts / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    key = f"artifacts/{name}"
    service.commit(ArtifactSaved(Saved(AttemptKey(trial_id, 1), key, sha256_of(path), len(content))))
    return key


@pytest.fixture
def trial_id(service: ServiceRig) -> int:
    return service.trial(service.sweep(), 0, 0.5, model=False)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("plot.png", PNG, "image"),
        ("photo", b"\xff\xd8\xff\xe0rest", "image"),
        ("drawing.svg", SVG, "text"),
        ("fake.png", SVG, "text"),
        ("page.html", b"<h1>hi</h1>", "text"),
        ("table.csv", b"a,b\n1,2\n", "table"),
        ("notes.md", "# größe".encode(), "text"),
        ("weights.bin", b"\0\1\2\3", "none"),
        ("latin", b"gr\xf6\xdfe", "none"),
        ("empty.txt", b"", "none"),
    ],
)
def test_content_decides_the_kind(
    service: ServiceRig, client: TestClient, trial_id: int, name: str, content: bytes, kind: str
) -> None:
    key = _save(service, trial_id, 0, name, content)
    preview = client.get(f"{TRIALS}/{trial_id}/preview", params={"name": key}).json()
    assert preview["kind"] == kind
    assert preview["size_bytes"] == len(content)
    assert preview["text"] == content.decode() if kind == "text" else preview["text"] is None


def test_image_is_sent_sandboxed_and_with_its_own_type(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    answer = client.get(f"{TRIALS}/{trial_id}/image", params={"name": _save(service, trial_id, 0, "plot.html", PNG)})
    assert (answer.status_code, answer.content) == (200, PNG)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'; sandbox" in answer.headers.get_list("content-security-policy")


def test_other_files_are_no_images(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    for name, content in (("drawing.svg", SVG), ("page.html", b"<script>"), ("fake.png", b"GIF")):
        key = _save(service, trial_id, 0, name, content)
        assert_problem(client.get(f"{TRIALS}/{trial_id}/image", params={"name": key}), 409, "is not a PNG")


@pytest.mark.parametrize("name", ["../../../../admin.token", "log", "artifacts/../log", "artifacts/_images/../log"])
def test_other_files_are_refused(service: ServiceRig, client: TestClient, trial_id: int, name: str) -> None:
    service.commit(ArtifactSaved(Saved(AttemptKey(trial_id, 1), name, "0" * 64, 1)))  # as a trial might report
    for route in ("preview", "image"):
        assert_problem(client.get(f"{TRIALS}/{trial_id}/{route}", params={"name": name}), 404)


def test_symbolic_link_is_not_followed(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    service.data.admin_token.write_text("secret")
    key = _save(service, trial_id, 0, "plot.png", PNG)
    path = service.attempt(1, 0).artifacts / "plot.png"
    path.unlink()
    path.symlink_to(service.data.admin_token)
    for route in ("preview", "image"):
        answer = client.get(f"{TRIALS}/{trial_id}/{route}", params={"name": key})
        assert_problem(answer, 404, "missing from the disk")


def test_preview_is_bounded(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    long = "größe " * 20_000
    key = _save(service, trial_id, 0, "long.txt", long.encode())
    preview = client.get(f"{TRIALS}/{trial_id}/preview", params={"name": key}).json()
    assert long.startswith(preview["text"])
    assert 65_530 <= len(preview["text"].encode()) <= 65_536
    assert (preview["is_complete"], preview["note"]) == (False, "the first 64 KB")
    wide = "\n".join(",".join(["x" * 300] * 40) for _ in range(200))
    key = _save(service, trial_id, 0, "wide.csv", wide.encode())
    table = client.get(f"{TRIALS}/{trial_id}/preview", params={"name": key}).json()
    assert {len(row) for row in table["rows"]} == {30}
    assert {len(cell) for row in table["rows"] for cell in row} == {200}
    assert table["is_complete"] is False
    assert "the first 30 columns" in table["note"]


def test_small_table_is_complete_and_quotes_are_read(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    key = _save(service, trial_id, 0, "t.tsv", b'name\tvalue\n"two\twords"\t3\n')
    table = client.get(f"{TRIALS}/{trial_id}/preview", params={"name": key}).json()
    assert table["rows"] == [["name", "value"], ["two\twords", "3"]]
    assert (table["is_complete"], table["note"]) == (True, "")


def test_large_image_is_refused(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    content = PNG.ljust(trial_file_preview_routes.MAX_IMAGE_BYTES + 1, b"\0")
    key = _save(service, trial_id, 0, "plot.png", content)
    assert client.get(f"{TRIALS}/{trial_id}/preview", params={"name": key}).json()["kind"] == "none"
    assert_problem(client.get(f"{TRIALS}/{trial_id}/image", params={"name": key}), 409, "download it instead")


def test_logged_images_are_grouped_by_name_in_order_of_steps(
    service: ServiceRig, client: TestClient, trial_id: int
) -> None:
    for name, step in (("val/samples", 10), ("val/samples", 9), ("grid", 0)):
        _save(service, trial_id, 0, f"{FOLDER}/{file_name(name, step, 'png')}", PNG)
    _save(service, trial_id, 0, "plot.png", PNG)
    grid, samples = service.client(Role.VIEWER).get(f"{TRIALS}/{trial_id}/images").json()
    assert (grid["name"], grid["steps"]) == ("grid", [0])
    assert (samples["name"], samples["steps"], samples["size_bytes"]) == ("val/samples", [9, 10], 2 * len(PNG))
    answer = client.get(f"{TRIALS}/{trial_id}/image", params={"name": samples["files"][1]})
    assert answer.content == PNG
    assert client.get(f"{TRIALS}/{trial_id}/files/{samples['files'][0]}").content == PNG
