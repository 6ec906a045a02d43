"""Saved views: by name, for a project or for all sweeps."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.db.stores import saved_views
from podium.sweep.values.errors import ConflictError
from tests.service_rig import AT, ServiceRig, assert_problem

VIEWS = "/api/v1/views"
BEST = {
    "name": "best rates",
    "tab": "table",
    "query": {"filter": "lr<0.01", "sort": "-value", "columns": "number,value"},
}


def test_view_is_saved_listed_replaced_and_deleted(client: TestClient) -> None:
    saved = client.put(VIEWS, json=BEST).json()
    assert (saved["query"], saved["owner"], saved["project"]) == (BEST["query"], "admin", "")
    replaced = client.put(VIEWS, json={**BEST, "tab": "curves", "query": {}}).json()
    assert (replaced["id"], replaced["tab"], replaced["query"]) == (saved["id"], "curves", {})
    assert client.get(VIEWS).json() == [replaced]
    assert client.delete(f"{VIEWS}/{saved['id']}").json() == replaced
    assert client.get(VIEWS).json() == []
    assert_problem(client.delete(f"{VIEWS}/{saved['id']}"), 404, "no saved view")


def test_project_has_its_own_views_and_those_for_all_sweeps(client: TestClient) -> None:
    for project in ("", "vision", "audio"):
        assert client.put(VIEWS, json={**BEST, "project": project}).status_code == 200
    client.put(VIEWS, json={**BEST, "name": "a"})
    listed = client.get(VIEWS, params={"project": "vision"}).json()
    assert [(view["name"], view["project"]) for view in listed] == [
        ("a", ""),
        ("best rates", "vision"),
        ("best rates", ""),
    ]
    assert {view["project"] for view in client.get(VIEWS).json()} == {""}


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": " x"},
        {"name": "a/b"},
        {"name": "x" * 61},
        {"tab": "nowhere"},
        {"query": {"bad key": "x"}},
        {"query": {f"k{number}": "" for number in range(21)}},
        {"query": {"filter": "x" * 4001}},
        {"query": {"filter": 3}},
        {"project": "a\nb"},
    ],
)
def test_invalid_view_is_refused(client: TestClient, change: dict[str, Any]) -> None:
    assert client.put(VIEWS, json={**BEST, **change}).status_code == 422
    assert client.get(VIEWS).json() == []


def test_viewer_reads_but_does_not_save(service: ServiceRig, client: TestClient) -> None:
    saved = client.put(VIEWS, json=BEST).json()
    viewer = service.client(Role.VIEWER)
    assert viewer.get(VIEWS).json() == [saved]
    assert viewer.put(VIEWS, json=BEST).status_code == 403
    assert viewer.delete(f"{VIEWS}/{saved['id']}").status_code == 403


def test_number_of_views_is_limited(service: ServiceRig) -> None:
    same: dict[str, Any] = {"project": "", "tab": "table", "query": {}, "owner": "me", "at": AT, "max_views": 2}
    with service.database.write() as connection:
        for name in ("a", "b", "a"):
            saved_views.save(connection, name=name, **same)
        with pytest.raises(ConflictError, match="delete one first"):
            saved_views.save(connection, name="c", **same)
