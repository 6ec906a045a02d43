"""Search for the command palette: the most specific first, bounded."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from tests.service_rig import ServiceRig


@pytest.fixture
def filled(service: ServiceRig) -> ServiceRig:
    first = service.sweep(name="resnet baseline", project="vision", tags=["paper"])
    second = service.sweep(name="transformer", project="text")
    service.sweep(name="resnet large", project="vision")
    found = [service.trial(first, 0, 0.5), service.trial(first, 1, 0.4), service.trial(second, 0, 0.3)]
    service.ensemble(first, found[:2], "resnet best")
    return service


def _found(client: TestClient, words: str, limit: int = 20) -> list[tuple[str, int | None, str]]:
    answer = client.get("/api/v1/search", params={"q": words, "limit": limit})
    assert answer.status_code == 200, answer.text
    return [(each["kind"], each["id"], each["name"]) for each in answer.json()]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("resnet", [("sweep", 3, "resnet large"), ("sweep", 1, "resnet baseline"), ("ensemble", 1, "resnet best")]),
        ("RESNET base", [("sweep", 1, "resnet baseline")]),
        ("1/1", [("trial", 2, "Trial 1")]),
        ("sweep 2 trial 0", [("trial", 3, "Trial 0")]),
        ("1 #0", [("trial", 1, "Trial 0")]),
        ("2", [("sweep", 2, "transformer"), ("trial", 2, "Trial 1")]),
        ("trial 3", [("trial", 3, "Trial 0")]),
        ("sweep 3", [("sweep", 3, "resnet large")]),
        ("vision", [("project", None, "vision"), ("sweep", 3, "resnet large"), ("sweep", 1, "resnet baseline")]),
        ("paper", [("sweep", 1, "resnet baseline")]),
        ("", [("sweep", 3, "resnet large"), ("sweep", 2, "transformer"), ("sweep", 1, "resnet baseline")]),
        ("nothing such", []),
        ("9/9", []),
        ("%", []),
    ],
)
def test_words_find_the_most_specific_first(
    filled: ServiceRig, words: str, first: list[tuple[str, int | None, str]]
) -> None:
    assert _found(filled.client(Role.VIEWER), words)[: len(first) or None] == first


def test_names_that_start_with_the_words_come_before_names_that_contain_them(
    filled: ServiceRig, client: TestClient
) -> None:
    newest = filled.sweep(name="pictures")
    assert [name for _, _, name in _found(client, "res")] == [
        "resnet large",
        "resnet baseline",
        "pictures",
        "resnet best",
    ]
    assert _found(client, "pic")[0] == ("sweep", newest, "pictures")


def test_tag_of_a_trial_is_found(filled: ServiceRig, client: TestClient) -> None:
    client.patch("/api/v1/trials/2", json={"add_tags": ["odd"]})
    assert _found(client, "odd") == [("trial", 2, "Trial 1")]


def test_result_is_bounded_and_without_duplicates(filled: ServiceRig, client: TestClient) -> None:
    assert len(_found(client, "", 2)) == 2
    found = _found(client, "vision")
    assert len(found) == len(set(found))
    assert client.get("/api/v1/search", params={"limit": 51}).status_code == 422


def test_archived_sweeps_come_last_with_a_mark(filled: ServiceRig, client: TestClient) -> None:
    filled.end_sweep(3)
    client.patch("/api/v1/sweeps/3/details", json={"archived": True})
    answer = client.get("/api/v1/search", params={"q": "resnet"}).json()
    assert [each["id"] for each in answer if each["kind"] == "sweep"] == [1, 3]
    assert answer[1]["detail"].endswith("archived")
