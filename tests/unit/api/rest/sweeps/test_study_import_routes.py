"""Import of studies: stored unchanged and once; invalid content is refused; imported code never runs."""

from __future__ import annotations

import csv
import io
import json
from typing import Any, cast

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from podium.api.http.request_limits import RequestLimits
from podium.db.integrity.main import audit
from podium.db.queries import scheduler_recovery
from podium.db.schema.tables import metadata
from podium.db.stores.trial_writer import IMPORTED_FROM
from podium.sweep.lifecycle.imported_sweep import parse_import
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.errors import InvalidSpecError
from tests.doctor import assert_no_breaches
from tests.service_rig import ServiceRig, assert_problem
from tests.specs import builtin_document

PATH = "/api/v1/sweeps/import"


def study(**changes: Any) -> dict[str, Any]:
    """A study of four trials, one in each state."""
    plain: dict[str, Any] = {
        "name": "étude 雪",
        "source": "an Optuna study",
        "metrics": [{"name": "val_loss", "goal": "minimize"}],
        "parameters": {"lr": {"min": 1e-4, "max": 0.1, "log": True}, "kind": {"values": ["a", None, True, 3]}},
        "trials": [
            {
                "state": "finished",
                "params": {"lr": 0.01, "kind": None},
                "values": [0.5],
                "metrics": {"val_loss": [[0, 0.75], [1, 0.5]]},
                "user_attrs": {"note": "=SUM(A1)", "shape": [1, {"two": None}]},
                "constraints": {"size": -1.5},
                "started_at": 1_700_000_000.25,
                "ended_at": 1_700_000_002.25,
            },
            {"state": "pruned", "params": {"lr": 0.05, "kind": "a"}, "metrics": {"val_loss": [[0, 2.0]]}},
            {"state": "failed", "params": {"lr": 0.5}, "distributions": {"lr": {"min": 0.0, "max": 1.0}}},
            {"state": "cancelled"},
        ],
    }
    return {**plain, **changes}


def one(**changes: Any) -> dict[str, Any]:
    """A study of one finished trial, changed."""
    return study(trials=[{"state": "finished", "params": {"lr": 0.01}, "values": [0.5], **changes}])


def test_study_becomes_a_finished_sweep(client: TestClient, service: ServiceRig) -> None:
    answer = client.post(PATH, json=study())
    assert answer.status_code == 201, answer.text
    sweep = answer.json()
    assert answer.headers["location"] == f"/api/v1/sweeps/{sweep['id']}"
    assert (sweep["name"], sweep["state"], sweep["reason"]) == ("étude 雪", "finished", "imported from an Optuna study")
    assert sweep["counts"] == {"finished": 1, "pruned": 1, "failed": 1, "cancelled": 1}
    assert sweep["best"]["params"] == {"lr": 0.01, "kind": None}
    assert sweep["spec"]["parameters"] == study()["parameters"]
    assert sweep["run_cap"] == 2
    assert [found["id"] for found in client.get("/api/v1/sweeps").json()["items"]] == [sweep["id"]]
    assert_no_breaches(service.data, service.database)


def test_imported_trials_can_be_read(client: TestClient) -> None:
    sweep_id = client.post(PATH, json=study()).json()["id"]
    first, second, third, fourth = client.get(f"/api/v1/sweeps/{sweep_id}/trials").json()["items"]
    assert [trial["number"] for trial in (first, second, third, fourth)] == [0, 1, 2, 3]
    assert (first["value"], first["sampler"], first["attempt"]) == (0.5, "imported", 0)
    assert first["started_at"] == "2023-11-14T22:13:20.250000Z"
    detail = client.get(f"/api/v1/trials/{first['id']}").json()
    assert (detail["attempts"], detail["artifacts"]) == ([], [])
    metrics = client.get(f"/api/v1/trials/{first['id']}/metrics").json()
    assert metrics == {"val_loss": [[0, 0.75], [1, 0.5]]}
    assert_problem(client.get(f"/api/v1/trials/{first['id']}/log"), 404)


def test_values_that_are_not_finite_are_counted_and_marked(client: TestClient) -> None:
    marks = {"val_loss": [[1, "nan"]], "other": [[0, "-inf"], [0, "nan"]]}
    sweep_id = client.post(PATH, json=one(metrics={"val_loss": [[0, 0.5]]}, non_finite=marks)).json()["id"]
    (trial,) = client.get(f"/api/v1/sweeps/{sweep_id}/trials").json()["items"]
    found = client.get(f"/api/v1/trials/{trial['id']}/metric-summaries").json()
    assert found["non_finite"] == {"val_loss": [[1, "nan"]], "other": [[0, "-inf"]]}, "the first of a step is kept"
    assert {each["name"]: each["non_finite"] for each in found["metrics"]} == {"val_loss": 1, "other": 1}
    (row,) = csv.DictReader(io.StringIO(client.get(f"/api/v1/sweeps/{sweep_id}/export.csv").text, newline=""))
    assert (row["metrics_other_non_finite"], row["metrics_other_last"]) == ("1", "")
    assert_problem(client.post(PATH, json=one(non_finite={"val_loss": [[1, "big"]]})), 422, "non_finite")


def test_imported_study_is_exported_unchanged(client: TestClient) -> None:
    sweep_id = client.post(PATH, json=study()).json()["id"]
    lines = [json.loads(line) for line in client.get(f"/api/v1/sweeps/{sweep_id}/export.jsonl").text.splitlines()]
    for line, trial in zip(lines, study()["trials"], strict=True):
        assert line["state"] == trial["state"]
        assert line["params"] == trial.get("params", {})
        for key in ("metrics", "user_attrs", "constraints"):
            assert line[key] == trial.get(key, {})
        values = trial.get("values")
        assert line["values"] == (None if values is None else {"val_loss": values[0]})
    assert [line["distributions"] for line in lines] == [trial.get("distributions", {}) for trial in study()["trials"]]
    table = list(csv.DictReader(io.StringIO(client.get(f"/api/v1/sweeps/{sweep_id}/export.csv").text, newline="")))
    assert (table[0]["user_attrs_note"], table[0]["user_attrs_shape"]) == ("'=SUM(A1)", '[1, {"two": null}]')
    assert (table[0]["constraints_size"], table[1]["constraints_size"]) == ("-1.5", "")
    assert client.get(f"/api/v1/sweeps/{sweep_id}/export.parquet").status_code == 200


def test_several_objectives_are_stored(client: TestClient, service: ServiceRig) -> None:
    metrics = [{"name": "loss", "goal": "minimize"}, {"name": "score", "goal": "maximize"}]
    trials = [
        {"state": "finished", "values": [0.5, 2.0]},
        {"state": "finished", "values": [0.25, 1.0]},
        {"state": "failed"},
    ]
    sweep = client.post(PATH, json=study(metrics=metrics, trials=trials)).json()
    assert sweep["spec"]["metrics"] == metrics
    first, second, third = client.get(f"/api/v1/sweeps/{sweep['id']}/trials").json()["items"]
    assert [first["values"], second["values"], third["values"]] == [
        {"loss": 0.5, "score": 2.0}, {"loss": 0.25, "score": 1.0}, None,
    ]  # fmt: skip
    text = client.get(f"/api/v1/sweeps/{sweep['id']}/export.csv").text.splitlines()
    assert text[0].startswith("number,state,values_loss,values_score,")
    assert text[1].startswith("0,finished,0.5,2.0,")
    assert_no_breaches(service.data, service.database)


def test_later_sweep_can_warm_start_from_the_import(client: TestClient) -> None:
    earlier = client.post(PATH, json=study()).json()["id"]
    spec = builtin_document(
        method="tpe", warm_start=[earlier], metric={"name": "val_loss", "goal": "minimize"},
        parameters={"lr": {"min": 1e-4, "max": 0.1, "log": True}},
    )  # fmt: skip
    answer = client.post("/api/v1/sweeps", json=spec)
    assert answer.json()["warm_start"] == {"trials": 2, "dropped": 0, "why": [], "left_out": 0}


def test_empty_study_is_imported(client: TestClient, service: ServiceRig) -> None:
    sweep = client.post(PATH, json=study(trials=[], parameters={})).json()
    assert (sweep["state"], sweep["counts"], sweep["best"]) == ("finished", {}, None)
    assert_no_breaches(service.data, service.database)


def test_same_key_imports_once(client: TestClient) -> None:
    headers = {"Idempotency-Key": "k"}
    first, second = (client.post(PATH, json=study(), headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    other = client.post(PATH, json=one(), headers=headers)
    assert_problem(other, 409, "this Idempotency-Key was used for another sweep")
    assert client.post(PATH, json=study()).json()["id"] != first.json()["id"], "without a key it is another"


@pytest.mark.parametrize("role", ["viewer", "submitter"])
def test_import_requires_the_role_admin(service: ServiceRig, role: str) -> None:
    headers = {"Authorization": f"Bearer token-of-{role}"}
    assert_problem(service.client(None).post(PATH, json=study(), headers=headers), 403)


BAD: list[tuple[dict[str, Any], str, str]] = [
    (study(metrics=[]), "metrics", "must not be empty"),
    (study(extra=1), "extra", "unknown key"),
    (study(parameters={"lr": {"min": 1.0, "max": 0.0}}), "parameters.lr.min", "must not exceed max"),
    (one(state="running"), "trials.0.state", "must be one of finished"),
    (one(values=None), "trials.0.values", "must have 1 value"),
    (one(values=[0.5, 0.5]), "trials.0.values", "must have 1 value, got 2"),
    (one(state="failed"), "trials.0.values", "must have 0 values"),
    (one(params={"lr": 7.0}), "trials.0.params.lr", "must be between"),
    (one(params={"nope": 7.0}), "trials.0.params.nope", "unknown parameter"),
    (one(distributions={"kind": {"value": 1}}), "trials.0.distributions.kind", "unknown parameter of the trial"),
    (one(started_at=2.0, ended_at=1.0), "trials.0.ended_at", "before started_at"),
    (one(started_at=1e300), "trials.0.started_at", "must be at most"),
    (one(metrics={"a": [[-1, 0.5]]}), "trials.0.metrics.a.0.0", "must be at least"),
    (one(metrics={"a": [[0, "x"]]}), "trials.0.metrics.a.0.1", "must be a number"),
]


@pytest.mark.parametrize(("document", "where", "words"), BAD, ids=[where for _, where, _ in BAD])
def test_invalid_field_is_named(client: TestClient, document: dict[str, Any], where: str, words: str) -> None:
    body = assert_problem(client.post(PATH, json=document), 422)
    assert [".".join(error["location"]) for error in body["errors"]][:1] == [where]
    assert words in body["errors"][0]["message"]
    assert client.get("/api/v1/sweeps").json()["items"] == []


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
@pytest.mark.parametrize("place", ["values", "metrics", "user_attrs"])
def test_only_finite_numbers_are_accepted(client: TestClient, place: str, value: str) -> None:
    filled = {"values": ["X"], "metrics": {"val_loss": [[0, "X"]]}, "user_attrs": {"note": "X"}}[place]
    body = json.dumps(one(**{place: filled})).replace('"X"', value)
    assert_problem(client.post(PATH, content=body), 422)


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"\x80\x04K\x01."])
def test_invalid_study_is_422(client: TestClient, body: bytes) -> None:
    assert_problem(client.post(PATH, content=body), 422)


def test_import_above_the_limits_is_refused(client: TestClient) -> None:
    with pytest.raises(InvalidSpecError, match="the curves have 3 points; at most 1"):
        parse_import(json.dumps(study()).encode(), max_points=1)
    cast(FastAPI, client.app).state.request_limits = RequestLimits(import_bytes=10)
    assert_problem(client.post(PATH, json=study()), 413, "import fewer trials")


def test_nesting_of_attributes_is_limited(client: TestClient) -> None:
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    body = assert_problem(client.post(PATH, json=one(user_attrs={"note": deep})), 422)
    assert "nested more than 32 levels deep" in body["errors"][0]["message"]


def test_imported_study_does_not_run(client: TestClient, service: ServiceRig) -> None:
    sweep_id = client.post(PATH, json=study()).json()["id"]
    failed = client.get(f"/api/v1/sweeps/{sweep_id}/trials").json()["items"][2]["id"]
    words = f"sweep {sweep_id} was imported and cannot run"
    for verb in ("pause", "resume", "stop", "cancel"):
        assert_problem(client.post(f"/api/v1/sweeps/{sweep_id}/{verb}"), 409, words)
    assert_problem(client.patch(f"/api/v1/sweeps/{sweep_id}", json={"run_cap": 9}), 409, words)
    for verb in ("retry", "clone", "stop"):
        assert_problem(client.post(f"/api/v1/trials/{failed}/{verb}"), 409, words, f"warm_start: [{sweep_id}]")
    assert DatabaseRecorder(service.database).open_sweeps(frozenset()) == []


def test_imported_sweep_cannot_be_submitted(client: TestClient) -> None:
    spec = client.post(PATH, json=study()).json()["spec"]
    body = assert_problem(client.post("/api/v1/sweeps", json=spec), 422)
    assert body["errors"][0]["location"] == ["program", "imported"]


def test_ensemble_of_imported_trials_is_refused(client: TestClient) -> None:
    sweep_id = client.post(PATH, json=study()).json()["id"]
    assert_problem(client.post("/api/v1/ensembles", json={"sweep_id": sweep_id, "k": 1}), 422)


def test_ids_of_imported_trials_do_not_collide_with_planned_ones(client: TestClient, service: ServiceRig) -> None:
    planned = service.trial(service.sweep(), 0, 0.5)
    ids = [client.post(PATH, json=study()).json()["best"]["trial_id"] for _ in range(2)]
    assert ids == [IMPORTED_FROM, IMPORTED_FROM + 4]
    assert service.trial(service.sweep(), 0, 0.5) == planned + 1
    with service.database.read() as connection:
        assert scheduler_recovery.last_id(connection) == planned + 1


BREACHES = [
    ("results", "UPDATE trials SET sampler = 'tpe' WHERE number = 1"),
    ("results", "UPDATE sweeps SET spec = json_set(spec, '$.program', json('{}'))"),
    ("results", "UPDATE trials SET value = NULL WHERE number = 0"),
    ("results", "UPDATE trials SET value = 1.0 WHERE number = 1"),
    ("results", "UPDATE trials SET ended_at = NULL WHERE number = 2"),
    ("attempts", "UPDATE trials SET attempt = 1 WHERE number = 0"),
    ("attempts", "INSERT INTO attempts (trial_id, number, device_id, started_at, ended_at, state)"
                 f" VALUES ({IMPORTED_FROM}, 1, 'cpu-0', 1, 2, 'finished')"),
    ("sweeps", "UPDATE sweeps SET state = 'cancelled'"),
    ("counts", "UPDATE trials SET number = 7 WHERE number = 3"),
    ("references", "UPDATE metrics SET attempt = 1"),
]  # fmt: skip


@pytest.mark.sqlite
@pytest.mark.parametrize(("invariant", "statement"), BREACHES, ids=[statement for _, statement in BREACHES])
def test_audit_checks_imported_sweeps(client: TestClient, service: ServiceRig, invariant: str, statement: str) -> None:
    client.post(PATH, json=study())
    assert_no_breaches(service.data, service.database)
    with service.database.write() as connection:
        connection.exec_driver_sql(statement)
    found = audit(service.data, service.database, sleep=lambda _: None)
    assert invariant in {breach.invariant for breach in found.breaches}


@pytest.mark.sqlite
def test_failed_import_changes_no_table(client: TestClient, service: ServiceRig) -> None:
    with service.database.write() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER fail BEFORE UPDATE ON sweeps BEGIN SELECT RAISE(ABORT, 'the last write fails'); END"
        )
    assert client.post(PATH, json=study()).status_code == 503
    with service.database.read() as connection:
        for name in ("sweeps", "trials", "trial_params", "metrics", "events"):
            assert connection.execute(metadata.tables[name].select()).all() == []
