"""Sweeps over REST: accepted once, listed in pages, best trials first, cancelled idempotently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from starlette.testclient import TestClient

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.lifecycle.database_changes import SweepChanged
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.saved_network_manifest import NotExportable
from podium.sweep.values.states import SweepState
from tests.service_rig import AT, MODEL, ServiceRig, assert_problem
from tests.specs import builtin_document

URL = "/api/v1/sweeps"


def pages(client: TestClient, url: str, limit: int) -> list[list[Any]]:
    """All pages of a list, followed by `next`."""
    found, after = [], ""
    while True:
        page = client.get(f"{url}?limit={limit}{after}").json()
        found.append(page["items"])
        if page["next"] is None:
            return found
        after = f"&after={page['next']}"


def test_sweep_is_accepted_with_its_location(client: TestClient) -> None:
    document = builtin_document(name="ünï", run_cap=9)
    answer = client.post(URL, json=document)
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{URL}/1"
    sweep = answer.json()
    assert (sweep["id"], sweep["name"], sweep["state"], sweep["run_cap"]) == (1, "ünï", "queued", 9)
    assert (sweep["counts"], sweep["best"], sweep["started_at"]) == ({}, None, None)
    assert parse_spec(sweep["spec"]) == parse_spec(document)
    assert client.get(f"{URL}/1").json() == sweep


def test_task_of_the_data_is_inferred_and_stored(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n1,0.5\n2,1.5\n")
    data = {"file": str(tmp_path / "rows.csv"), "target": "y"}
    document = builtin_document(program={"model": "mlp", "data": data}, metric={"name": "val_rmse", "goal": "minimize"})
    answer = client.post(URL, json=document)
    assert answer.status_code == 201
    source = memory_mapped_datasets.source_of(data)
    assert answer.json()["spec"]["program"]["data"] == {**data, "task": "regression", "source": source}
    wrong = client.post(URL, json=builtin_document(program={"model": "mlp", "data": data}))
    assert_problem(wrong, 422, "built-in models report val_rmse")


def test_same_key_returns_the_same_sweep_or_a_conflict(client: TestClient) -> None:
    key = {"Idempotency-Key": "once"}
    first, again = (client.post(URL, json=builtin_document(), headers=key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert again.headers["location"] == first.headers["location"]
    assert_problem(client.post(URL, json=builtin_document(seed=1), headers=key), 409, "Idempotency-Key")
    assert client.post(URL, json=builtin_document()).json()["id"] == 2
    assert_problem(client.post(URL, json=builtin_document(), headers={"Idempotency-Key": "k" * 201}), 422)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 200])
def test_pages_contain_every_sweep_once_newest_first(client: TestClient, service: ServiceRig, limit: int) -> None:
    ids = [service.sweep() for _ in range(3)]
    found = pages(client, URL, limit)
    assert [sweep["id"] for page in found for sweep in page] == ids[::-1]
    assert all(len(page) == limit for page in found[:-1])
    assert found[-1]


def test_no_sweeps_are_one_empty_page(client: TestClient) -> None:
    assert client.get(URL).json() == {"items": [], "next": None}


def test_page_is_stable_when_sweeps_are_added(client: TestClient, service: ServiceRig) -> None:
    for _ in range(4):
        service.sweep()
    first = client.get(f"{URL}?limit=2").json()
    service.sweep()
    second = client.get(f"{URL}?limit=2&after={first['next']}").json()
    assert [s["id"] for s in first["items"] + second["items"]] == [4, 3, 2, 1]


def test_sweeps_are_filtered_by_state(client: TestClient, service: ServiceRig) -> None:
    over, _ = service.sweep(), service.sweep()
    service.end_sweep(over)
    assert [s["id"] for s in client.get(f"{URL}?state=finished").json()["items"]] == [over]
    assert_problem(client.get(f"{URL}?state=done"), 422, "state")


@pytest.mark.parametrize(("goal", "numbers"), [("maximize", [3, 1, 4, 0]), ("minimize", [0, 4, 1, 3])])
def test_best_trial_is_first_and_ties_go_to_the_earlier(
    client: TestClient, service: ServiceRig, goal: str, numbers: list[int]
) -> None:
    metric = {"maximize": "val_accuracy", "minimize": "val_loss"}[goal]
    sweep_id = service.sweep(metric={"name": metric, "goal": goal})
    for number, value in enumerate([0.1, 0.5, None, 0.9, 0.4, 0.5]):
        service.trial(sweep_id, number, value)
    found = client.get(f"{URL}/{sweep_id}/best?k=100").json()
    assert [trial["number"] for trial in found if trial["number"] != 5] == numbers
    tied = [trial["number"] for trial in found if trial["value"] == 0.5]
    assert tied == [1, 5]
    assert client.get(f"{URL}/{sweep_id}/best").json() == found[:1]
    assert client.get(f"{URL}/{sweep_id}").json()["best"] == found[0]


@pytest.mark.parametrize("k", ["0", "-1", "1001", "x", "nan"])
def test_invalid_k_is_422(client: TestClient, service: ServiceRig, k: str) -> None:
    assert_problem(client.get(f"{URL}/{service.sweep()}/best?k={k}"), 422, "k")


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_pages_contain_every_trial_once_by_number(client: TestClient, service: ServiceRig, limit: int) -> None:
    other, sweep_id = service.sweep(), service.sweep()
    service.trial(other, 0, 0.5)
    for number in (2, 0, 1):
        service.trial(sweep_id, number, 0.5, params={"lr": number / 8})
    found = [trial for page in pages(client, f"{URL}/{sweep_id}/trials", limit) for trial in page]
    assert [(trial["number"], trial["params"]) for trial in found] == [(n, {"lr": n / 8}) for n in range(3)]


def test_trials_are_filtered_by_state(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5)
    running = service.trial(sweep_id, 1, None)
    found = client.get(f"{URL}/{sweep_id}/trials?state=running").json()["items"]
    assert [(trial["id"], trial["device"]) for trial in found] == [(running, "cpu-0")]
    assert client.get(f"{URL}/{sweep_id}").json()["counts"] == {"finished": 1, "running": 1}


def test_cancel_is_idempotent(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    answers = [client.post(f"{URL}/{sweep_id}/cancel") for _ in range(3)]
    assert [(a.status_code, a.json()["state"], a.json()["reason"]) for a in answers] == [
        (200, "cancelled", "cancelled on request")
    ] * 3
    assert answers[0].json() == answers[2].json()


@pytest.mark.parametrize("state", [SweepState.FINISHED, SweepState.FAILED])
def test_command_for_a_terminal_sweep_is_409_with_the_possible_ones(
    client: TestClient, service: ServiceRig, state: SweepState
) -> None:
    sweep_id = service.sweep()
    service.end_sweep(sweep_id, state)
    assert_problem(
        client.post(f"{URL}/{sweep_id}/cancel"), 409, f"a {state} sweep cannot be cancelled", "trial retry, trial clone"
    )
    assert client.get(f"{URL}/{sweep_id}").json()["reason"] == "over"


UNKNOWN = [
    "sweeps/9", "sweeps/9/trials", "sweeps/9/best", "trials/9", "trials/9/attempts", "trials/9/metrics", "trials/9/log",
    "ensembles/9", "ensembles/9/evaluations/9", "nothing", "sweeps/1/nothing",
]  # fmt: skip


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_id_is_404(client: TestClient, path: str) -> None:
    assert_problem(client.get(f"/api/v1/{path}"), 404)


@pytest.mark.parametrize("path", ["sweeps/9/cancel", "ensembles/9/stop"])
def test_unknown_id_cannot_be_changed(client: TestClient, path: str) -> None:
    assert_problem(client.post(f"/api/v1/{path}"), 404)


@pytest.mark.parametrize("number", ["x", "1.5", "0", "-1", str(2**63), "9" * 400, "%00", "1e3"])
@pytest.mark.parametrize("path", ["sweeps/{}", "sweeps/{}/best", "trials/{}", "trials/{}/log", "ensembles/{}"])
def test_invalid_id_is_422(client: TestClient, path: str, number: str) -> None:
    assert_problem(client.get(f"/api/v1/{path.format(number)}"), 422)


@pytest.mark.parametrize("query", [f"after={2**63}", "after=x", "after=-1", "limit=0", "limit=100000", "limit=x"])
@pytest.mark.parametrize("path", ["sweeps", "sweeps/1/trials", "ensembles"])
def test_invalid_page_parameters_are_refused(service: ServiceRig, client: TestClient, path: str, query: str) -> None:
    of_trials = path.endswith("trials") and query.startswith("after")  # may be a string with another sort key
    service.sweep()
    assert_problem(client.get(f"/api/v1/{path}?{query}"), 400 if of_trials else 422)


def test_another_method_is_405(client: TestClient) -> None:
    assert_problem(client.delete(f"{URL}/1"), 405)


# Trials.


def test_trial_shows_its_attempts_and_files(client: TestClient, service: ServiceRig) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.75, params={"lr": 0.01, "optimizer": "sgd"})
    trial = client.get(f"/api/v1/trials/{trial_id}").json()
    assert (trial["state"], trial["value"], trial["params"]) == ("finished", 0.75, {"lr": 0.01, "optimizer": "sgd"})
    (attempt,) = trial["attempts"]
    assert (attempt["number"], attempt["device"], attempt["pid"], attempt["exit"]) == (1, "cpu-0", 4321, "0")
    assert attempt["duration_s"] == 2.0
    assert attempt["started_at"] == "2023-11-14T22:13:21Z"
    (artifact,) = trial["artifacts"]
    assert (artifact["name"], artifact["attempt"], artifact["size_bytes"]) == (MODEL, 1, 1000)
    assert len(artifact["sha256"]) == 64
    assert client.get(f"/api/v1/trials/{trial_id}/attempts").json() == [attempt]


def test_trial_shows_why_its_network_cannot_join_an_ensemble(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    joins, unfit, gone = (service.trial(sweep_id, number, 0.75) for number in range(3))
    path = service.attempt(sweep_id, 1).model
    save_file({"w": np.zeros(1, np.float32)}, path, {"user_network": NotExportable("there is no build").to_json()})
    service.attempt(sweep_id, 2).model.unlink()
    said = [client.get(f"/api/v1/trials/{trial_id}").json()["unfit"] for trial_id in (joins, unfit, gone)]
    assert said[:2] == [None, "its network cannot join an ensemble: there is no build"]
    assert said[2] is not None and said[2].startswith("cannot read")
    assert client.get(f"/api/v1/trials/{service.trial(sweep_id, 3, 0.5, model=False)}").json()["unfit"] is None


def test_long_curve_is_thinned(client: TestClient, service: ServiceRig) -> None:
    trial_id = service.trial(service.sweep(), 0, None)
    service.points(trial_id, "m", *(step % 5 for step in range(2_500)))
    url = f"/api/v1/trials/{trial_id}/metrics"
    assert len(client.get(url).json()["m"]) <= 2_000
    assert len(client.get(url, params={"max_points": 2_500}).json()["m"]) == 2_500
    assert client.get(url, params={"max_points": 3}).status_code == 422


def test_metrics_are_pairs_in_step_order(client: TestClient, service: ServiceRig) -> None:
    trial_id = service.trial(service.sweep(), 0, None)
    service.points(trial_id, "val_loss", 0.9, 0.5)
    service.points(trial_id, "val_accuracy", 0.1)
    url = f"/api/v1/trials/{trial_id}/metrics"
    assert client.get(url).json() == {"val_accuracy": [[0, 0.1]], "val_loss": [[0, 0.9], [1, 0.5]]}
    assert client.get(f"{url}?name=val_accuracy").json() == {"val_accuracy": [[0, 0.1]]}
    assert client.get(f"{url}?name=other").json() == {}


def test_end_of_a_log_is_shown(client: TestClient, service: ServiceRig) -> None:
    trial_id = service.trial(service.sweep(), 0, None, log="<b>first</b>\nläst\n")
    url = f"/api/v1/trials/{trial_id}/log"
    whole = client.get(url)
    assert whole.text == "<b>first</b>\nläst\n"
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert client.get(f"{url}?tail_bytes=3").text == "st\n"
    assert client.get(f"{url}?tail_bytes=5&attempt=1").text.endswith("st\n")  # in the middle of a character


@pytest.mark.parametrize("query", ["", "?attempt=2"])
def test_missing_log_is_404(client: TestClient, service: ServiceRig, query: str) -> None:
    trial_id = service.trial(service.sweep(), 0, None, log=None if not query else "x")
    assert_problem(client.get(f"/api/v1/trials/{trial_id}/log{query}"), 404, "has no output yet")


@pytest.mark.parametrize("query", ["attempt=0", "attempt=../../x", f"attempt={'9' * 300}", "tail_bytes=0",
                                   f"tail_bytes={2**30}"])  # fmt: skip
def test_invalid_log_parameters_are_422(client: TestClient, service: ServiceRig, query: str) -> None:
    trial_id = service.trial(service.sweep(), 0, None, log="x")
    assert_problem(client.get(f"/api/v1/trials/{trial_id}/log?{query}"), 422)


def test_devices_show_their_trials(client: TestClient, service: ServiceRig) -> None:
    service.device("cpu-0")
    trial_id = service.trial(service.sweep(), 0, None)
    (device,) = client.get("/api/v1/devices").json()
    assert (device["id"], device["state"], device["trial_id"], device["member_ids"]) == ("cpu-0", "busy", trial_id, [])


# Health.


def test_service_is_alive_and_ready_only_when_serve_reports_it(client: TestClient, service: ServiceRig) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").status_code == 503
    for text, status in (
        ('{"parts": [{"name": "api", "state": "ready", "pid": 1}]}', 200),
        (
            '{"parts": [{"name": "api", "state": "ready", "pid": 4194399}]}',
            503,
        ),  # the file is older than the end of the service
        ('{"parts": [{"name": "api", "state": "starting", "pid": 1}]}', 503),
        ('{"parts": [{"name": "api", "state": "waiting", "pid": null}]}', 503),
        ('{"parts": []}', 503),
        ("{}", 503),
        ("half a fi", 503),
    ):
        service.data.service_file.write_text(text)
        assert client.get("/readyz").status_code == status, text


def test_unexpected_error_is_500_with_an_id_and_no_secret(client: TestClient, service: ServiceRig) -> None:
    with service.database.write() as connection:
        connection.exec_driver_sql("UPDATE tokens SET name = name")
    service.sweep()
    with service.database.write() as connection:
        connection.exec_driver_sql("UPDATE sweeps SET spec = 'not json: secret'")
    body = assert_problem(client.get(f"{URL}/1"), 500, "traceback as error")
    assert "secret" not in str(body)


def test_list_shows_devices_remaining_time_and_budget(client: TestClient, service: ServiceRig) -> None:
    """Devices in use, remaining time and budget of each sweep that is not terminal."""
    service.device()
    open_, over = service.sweep(run_cap=11, budget={"device_s": 1e12}), service.sweep(name="100%_done", run_cap=2)
    service.commit(SweepChanged(open_, SweepState.QUEUED, SweepState.RUNNING, "", AT))
    for number in range(3):
        service.trial(open_, number, 0.5)  # 2 s each
    service.trial(open_, 3, None)
    service.trial(over, 0, 0.5)
    service.end_sweep(over)
    items = {item["id"]: item for item in client.get(URL).json()["items"]}
    assert (items[open_]["devices"], items[open_]["eta_s"]) == (["cpu-0"], 15.0)  # 8 are left, and one is half done
    assert items[open_]["budget"]["device_s"]["allowed"] == 1e12
    assert (items[over]["devices"], items[over]["eta_s"], items[over]["budget"]) == ([], None, None)
    shown = client.get(f"{URL}/{open_}").json()
    assert (shown["devices"], shown["eta_s"]) == (["cpu-0"], 15.0)


def test_list_is_filtered_by_name_and_several_states(client: TestClient, service: ServiceRig) -> None:
    first, second = service.sweep(name="Digits 100%"), service.sweep(name="digits 1000")
    service.end_sweep(second)
    found = {
        query: [item["id"] for item in client.get(f"{URL}?{query}").json()["items"]]
        for query in ("search=DIGITS", "search=100%25", "state=queued&state=finished", "state=finished", "search=x")
    }
    assert found["search=DIGITS"] == found["state=queued&state=finished"] == [second, first]
    assert (found["search=100%25"], found["state=finished"], found["search=x"]) == ([first], [second], [])
    assert_problem(client.get(f"{URL}?state=done"), 422, "state")
