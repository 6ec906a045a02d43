"""What users write about sweeps: names, descriptions, tags, projects, stars and the archive."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.stores import event_outbox, sweeps
from podium.sweep.lifecycle.allowed_commands import SweepCommand
from podium.sweep.values.states import SweepState
from tests.service_rig import AT, ServiceRig, assert_problem
from tests.specs import builtin_document

V1 = "/api/v1"


def _names(client: TestClient, filter_text: str | None = None) -> list[str]:
    params = {} if filter_text is None else {"filter": filter_text}
    answer = client.get(f"{V1}/sweeps", params=params)
    assert answer.status_code == 200, answer.text
    return [sweep["name"] for sweep in answer.json()["items"]]


def _change(client: TestClient, sweep_id: int, **body: Any) -> dict[str, Any]:
    answer = client.patch(f"{V1}/sweeps/{sweep_id}/details", json=body)
    assert answer.status_code == 200, answer.text
    changed: dict[str, Any] = answer.json()
    return changed


def test_details_are_changed_one_by_one(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep(name="first")
    changed = _change(client, sweep_id, name="  renamed ", description="# Why\r\nbecause", project="vision")
    assert (changed["name"], changed["description"], changed["project"]) == ("renamed", "# Why\nbecause", "vision")
    assert changed["spec"]["name"] == "first"  # as submitted
    assert _change(client, sweep_id, add_tags=["b", "a"])["tags"] == ["a", "b"]
    assert _change(client, sweep_id, remove_tags=["a"])["tags"] == ["b"]
    assert _change(client, sweep_id, tags=[])["tags"] == []
    assert _change(client, sweep_id, description="", project="")["description"] == ""
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["name"] == "renamed"
    (listed,) = client.get(f"{V1}/sweeps").json()["items"]
    assert listed["description"] is None  # lists stay small


def test_change_without_effect_has_no_event(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    _change(client, sweep_id, project="vision", tags=["keep"])
    with service.database.read() as connection:
        last = event_outbox.id_range(connection)
    _change(client, sweep_id, project="vision", tags=["keep"], archived=False, starred=True)
    with service.database.read() as connection:
        assert event_outbox.id_range(connection) == last


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "  "}, "must have 1 to 120 characters"),
        ({"name": "x" * 121}, "at most 120"),
        ({"name": "a\nb"}, "one line"),
        ({"project": "p" * 129}, "at most 128"),
        ({"description": "x" * 20_001}, "at most 20,000"),
        ({"add_tags": ["two words"]}, "invalid tag"),
        ({"tags": [f"t{number}" for number in range(21)]}, "at most 20 tags"),
    ],
)
def test_invalid_details_are_refused_and_nothing_changes(
    service: ServiceRig, client: TestClient, body: dict[str, Any], words: str
) -> None:
    sweep_id = service.sweep(name="first")
    answer = client.patch(f"{V1}/sweeps/{sweep_id}/details", json={"project": "vision", **body})
    assert answer.status_code == 422
    assert words in answer.text
    row = client.get(f"{V1}/sweeps/{sweep_id}").json()
    assert (row["name"], row["project"], row["tags"]) == ("first", "", [])


def test_viewer_cannot_change_details(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    viewer = service.client(Role.VIEWER)
    assert_problem(viewer.patch(f"{V1}/sweeps/{sweep_id}/details", json={"starred": True}), 403, "role submitter")
    assert viewer.get(f"{V1}/sweeps/{sweep_id}").status_code == 200


def test_only_an_ended_sweep_is_archived_and_it_stays_readable(service: ServiceRig, client: TestClient) -> None:
    running, ended = service.sweep(name="running"), service.sweep(name="ended")
    service.end_sweep(ended)
    refused = client.patch(f"{V1}/sweeps/{running}/details", json={"archived": True})
    assert_problem(refused, 409, "sweep 1 is queued", "stop or cancel it first")
    assert _change(client, ended, archived=True)["archived"] is True
    assert _names(client) == ["running"]
    assert _names(client, "is:archived") == ["ended"]
    assert _names(client, "is:archived,active") == ["ended", "running"]
    assert _names(client, "-is:archived") == ["running"]
    assert client.get(f"{V1}/sweeps/{ended}").json()["archived"] is True
    assert _change(client, ended, archived=False)["archived"] is False
    assert _names(client) == ["ended", "running"]


def test_archived_sweep_that_runs_again_is_listed(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep(run_cap=4)
    service.end_sweep(sweep_id)
    _change(client, sweep_id, archived=True)
    assert client.patch(f"{V1}/sweeps/{sweep_id}", json={"run_cap": 8}).json()["archived"] is False
    assert _names(client)


def test_stars_belong_to_a_user_and_outlive_the_token(service: ServiceRig, client: TestClient) -> None:
    mine, other = service.sweep(name="mine"), service.sweep(name="other")
    submitter = service.client(Role.SUBMITTER)
    assert _change(submitter, mine, starred=True)["starred"] is True
    assert client.get(f"{V1}/sweeps/{mine}").json()["starred"] is False
    assert (_names(submitter, "is:starred"), _names(client, "is:starred")) == (["mine"], [])
    with service.database.write() as connection:
        tokens.add(connection, "submitter", Role.SUBMITTER, "another-secret", AT)
    again = service.client(Role.SUBMITTER)
    again.headers["Authorization"] = "Bearer another-secret"
    assert _names(again, "is:starred") == ["mine"]
    assert _change(again, mine, starred=False)["starred"] is False
    assert other


def test_owner_is_the_name_of_the_token(service: ServiceRig, client: TestClient) -> None:
    submitted = service.client(Role.SUBMITTER).post(f"{V1}/sweeps", json=builtin_document(name="theirs"))
    assert submitted.json()["owner"] == "submitter"
    client.post(f"{V1}/sweeps", json=builtin_document(name="ours"))
    assert _names(client, "owner:submitter") == ["theirs"]
    assert _names(client, "is:mine") == ["ours"]


def test_details_of_the_sweep_file_are_stored(client: TestClient) -> None:
    document = builtin_document(name="n", project=" vision ", description="*why*", tags=["b", "a", "b"])
    sweep = client.post(f"{V1}/sweeps", json=document).json()
    assert (sweep["project"], sweep["description"], sweep["tags"]) == ("vision", "*why*", ["a", "b"])
    for key, value in (("project", "a\tb"), ("tags", ["no spaces please"]), ("description", 3)):
        answer = client.post(f"{V1}/sweeps", json=builtin_document(name="n", **{key: value}))
        assert answer.status_code == 422, key
        assert key in answer.text


def test_repeated_key_returns_the_sweep_after_a_rename(client: TestClient) -> None:
    headers = {"Idempotency-Key": "once"}
    first = client.post(f"{V1}/sweeps", json=builtin_document(name="n"), headers=headers).json()
    _change(client, first["id"], name="m", project="p")
    again = client.post(f"{V1}/sweeps", json=builtin_document(name="n"), headers=headers)
    assert (again.status_code, again.json()["name"]) == (200, "m")


@pytest.mark.parametrize(
    ("filter_text", "names"),
    [
        ("", ["c", "b", "a"]),
        ("project:vision", ["b", "a"]),
        ('project:""', ["c"]),
        ("-project:vision", ["c"]),
        ("project:vis*", ["b", "a"]),
        ("tag:keep", ["a"]),
        ("tag:keep,new", ["b", "a"]),
        ("-tag:keep project:vision", ["b"]),
        ("state:queued", ["c", "b"]),
        ("state:finished,queued", ["c", "b", "a"]),
        ("#2", ["b"]),
        ("id:1..2", ["b", "a"]),
        ("id>=3", ["c"]),
        ("name:B", ["b"]),
        ("description:reason", ["a"]),
        ("reason", ["a"]),
        ("vision", ["b", "a"]),
        ("50%", []),
        ("project!=vision", ["c"]),
    ],
)
def test_filter_selects_sweeps(service: ServiceRig, client: TestClient, filter_text: str, names: list[str]) -> None:
    service.sweep(name="a", project="vision", tags=["keep"], description="the reason")
    service.sweep(name="b", project="vision", tags=["new"])
    service.sweep(name="c")
    service.end_sweep(1)
    assert _names(client, filter_text) == names


@pytest.mark.parametrize(
    ("filter_text", "position", "words"),
    [
        ("projekt:x", 0, "did you mean project?"),
        ("is:old", 3, "known: archived, active, starred, mine"),
        ("tag:a state:over", 12, "unknown state"),
        ("tag>3", 0, "tag is a text"),
        ("id:x", 3, "is a number"),
        ('"open', 0, "unclosed"),
    ],
)
def test_invalid_filter_is_400_with_the_position(
    client: TestClient, filter_text: str, position: int, words: str
) -> None:
    problem = assert_problem(client.get(f"{V1}/sweeps", params={"filter": filter_text}), 400, words)
    assert problem["position"] == position


def test_pages_follow_the_filter(service: ServiceRig, client: TestClient) -> None:
    for number in range(6):
        service.sweep(name=f"s{number}", project="even" if number % 2 == 0 else "odd")
    first = client.get(f"{V1}/sweeps", params={"filter": "project:even", "limit": 2}).json()
    rest = client.get(f"{V1}/sweeps", params={"filter": "project:even", "limit": 2, "after": first["next"]}).json()
    assert [sweep["name"] for sweep in first["items"] + rest["items"]] == ["s4", "s2", "s0"]
    assert rest["next"] is None


def test_projects_are_counted(service: ServiceRig, client: TestClient) -> None:
    service.sweep(project="vision")
    service.sweep(project="vision")
    service.sweep(project="audio")
    service.sweep()
    service.end_sweep(1, SweepState.FINISHED)
    _change(client, 1, archived=True)
    assert client.get(f"{V1}/projects").json() == [
        {"name": "audio", "sweeps": 1, "archived": 0},
        {"name": "vision", "sweeps": 2, "archived": 1},
    ]


def test_commands_return_the_star_of_their_user(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    _change(client, sweep_id, starred=True)
    paused = client.post(f"{V1}/sweeps/{sweep_id}/{SweepCommand.PAUSE}").json()
    assert (paused["state"], paused["starred"]) == ("paused", True)


def test_renamed_sweep_is_a_predecessor_by_its_new_name(service: ServiceRig, client: TestClient) -> None:
    _change(client, service.sweep(name="old"), name="new")
    assert client.post(f"{V1}/sweeps", json=builtin_document(name="x", after=["new"])).status_code == 201
    assert client.post(f"{V1}/sweeps", json=builtin_document(name="y", after=["old"])).status_code == 422
    with service.database.read() as connection:
        assert sweeps.get(connection, 1).name == "new"
