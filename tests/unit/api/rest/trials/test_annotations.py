"""Notes and tags of trials: over REST and the command line, their validation, and their events."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.stores import event_outbox
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.note_and_tag_checks import MAX_NOTE, MAX_TAG, MAX_TAGS, checked_note, checked_tags
from tests.commands import Podium
from tests.service_rig import ServiceRig, assert_problem
from tests.unit.api.cli.test_app import served  # noqa: F401  # a fixture

V1 = "/api/v1"


@pytest.fixture
def trial_id(service: ServiceRig) -> int:
    return service.trial(service.sweep(), 0, 0.5)


def patch(client: TestClient, trial_id: int, **body: Any) -> dict[str, Any]:
    answer = client.patch(f"{V1}/trials/{trial_id}", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def annotation_events(service: ServiceRig) -> list[dict[str, Any]]:
    with service.database.read() as connection:
        return [event["payload"] for event in event_outbox.after(connection, 0) if event["kind"] == "trial.noted"]


def test_trial_has_a_note_and_tags(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    fresh = client.get(f"{V1}/trials/{trial_id}").json()
    assert (fresh["note"], fresh["tags"]) == ("", [])
    noted = patch(client, trial_id, note=" odd\r\ncurve \n", tags=["keep", "b", "keep"])
    assert (noted["note"], noted["tags"]) == ("odd\ncurve", ["b", "keep"])
    (listed,) = client.get(f"{V1}/sweeps/1/trials").json()["items"]
    assert listed["tags"] == ["b", "keep"]
    assert annotation_events(service) == [{"number": 0, "note": "odd\ncurve", "tags": ["b", "keep"]}]


def test_omitted_fields_are_kept_and_unchanged_ones_cause_no_event(
    service: ServiceRig, client: TestClient, trial_id: int
) -> None:
    patch(client, trial_id, note="odd", tags=["keep"])
    assert patch(client, trial_id, tags=["keep"])["note"] == "odd"
    assert patch(client, trial_id, note="odd")["tags"] == ["keep"]
    assert patch(client, trial_id)["tags"] == ["keep"]
    assert len(annotation_events(service)) == 1
    cleared = patch(client, trial_id, note="", tags=[])
    assert (cleared["note"], cleared["tags"]) == ("", [])
    assert annotation_events(service)[1:] == [{"number": 0, "note": "", "tags": []}]


def test_tags_are_added_and_removed_without_affecting_others(client: TestClient, trial_id: int) -> None:
    patch(client, trial_id, add_tags=["b", "a"])
    assert patch(client, trial_id, add_tags=["c"], remove_tags=["a", "never"])["tags"] == ["b", "c"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"tags": [""]}, "tags: invalid tag '': must be 1 to 50 characters without spaces"),
        ({"add_tags": ["two words"]}, "add_tags: invalid tag 'two words'"),
        ({"tags": ["a,b"]}, "invalid tag"),
        ({"tags": ["-keep"]}, "must not begin with -"),
        ({"tags": ["x" * (MAX_TAG + 1)]}, "invalid tag"),
        ({"tags": [f"t{n}" for n in range(MAX_TAGS + 1)]}, f"got {MAX_TAGS + 1}"),
        ({"note": "x" * (MAX_NOTE + 1)}, "got 10,001"),
        ({"note": "half \ud800 character"}, "lone surrogate"),
        ({"note": "a zero\x00"}, "contains a NUL"),
        ({"notes": "x"}, "body.notes"),
    ],
    ids=lambda value: str(value)[:30].encode(errors="replace").decode(),
)
def test_invalid_note_or_tag_is_422_with_the_reason(
    client: TestClient, trial_id: int, body: dict[str, Any], words: str
) -> None:
    content = json.dumps(body).encode()
    answer = client.patch(f"{V1}/trials/{trial_id}", content=content, headers={"Content-Type": "application/json"})
    assert_problem(answer, 422, words)
    assert client.get(f"{V1}/trials/{trial_id}").json()["tags"] == []


def test_limit_on_tags_applies_to_added_ones(client: TestClient, trial_id: int) -> None:
    patch(client, trial_id, tags=[f"t{n}" for n in range(MAX_TAGS)])
    assert_problem(client.patch(f"{V1}/trials/{trial_id}", json={"add_tags": ["more"]}), 422, "at most 20")


def test_unknown_trial_is_404(client: TestClient) -> None:
    assert_problem(client.patch(f"{V1}/trials/9", json={"note": "x"}), 404, "no trial 9")


def test_markup_is_stored_as_plain_text(client: TestClient, trial_id: int) -> None:
    planted = "<img src=x onerror=alert(1)>"
    assert patch(client, trial_id, note=planted)["note"] == planted


def test_tags_are_validated() -> None:
    assert checked_note("  ") == ""
    assert checked_tags(["é", "lr:1e-3"]) == ["lr:1e-3", "é"]
    with pytest.raises(InvalidSpecError, match="invalid tag"):
        checked_tags(["a\tb"])


@pytest.mark.sqlite
def test_annotated_trial_passes_the_audit(service: ServiceRig, client: TestClient, trial_id: int) -> None:
    patch(client, trial_id, note="x", tags=["y"])
    service.database.close()
    with sqlite3.connect(service.data.database) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_command_line_sets_notes_and_tags(podium: Podium, served: ServiceRig) -> None:  # noqa: F811
    assert podium("trial", "note", "1", "odd curve") == (0, "trial 1 has this note\n", "")
    code, out, _ = podium("trial", "tag", "1", "2", "--add", "keep", "--add", "a")
    assert (code, out) == (0, "trial 1 is tagged a, keep\ntrial 2 is tagged a, keep\n")
    assert podium("trial", "tag", "2", "--remove", "keep", "--remove", "a")[1] == "trial 2 has no tag\n"
    shown = podium("trial", "show", "1")[1]
    assert "tags: a, keep\nodd curve\n" in shown
    assert podium("trial", "note", "1", "")[1] == "trial 1 has no note\n"


def test_command_line_reports_invalid_annotations(podium: Podium, served: ServiceRig) -> None:  # noqa: F811
    assert podium("trial", "tag", "1")[0] == 2
    code, _, err = podium("trial", "tag", "1", "--add", "two words")
    assert (code, "invalid tag" in err) == (1, True)
