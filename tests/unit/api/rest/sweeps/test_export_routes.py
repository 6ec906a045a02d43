"""Export of trials over REST: correct cells, strings that are not formulas, and consistent chunks."""

from __future__ import annotations

import builtins
import csv
import io
import json
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from podium.api.http.service_context import ServiceContext
from podium.api.rest.sweeps import export_routes, export_writers
from podium.api.rest.sweeps.export_writers import CSV, JSON_LINES, PARQUET
from podium.db.queries.exports import Kind, export_schema, kind_of
from podium.sweep.lifecycle.database_changes import AttemptPlaced, TrialPlanned
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.device import GangDevice
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import FallbackReason
from tests.service_rig import AT, ServiceRig, assert_problem

PARAMETERS = {
    "lr": {"min": 1e-4, "max": 0.1, "log": True},
    "layers": {"min": 1, "max": 3},
    "bias": {"values": [True, False]},
    "=name": {"values": ["=1+1", "plain", "naïve 雪"]},
    "mixed": {"values": [1, "one", None]},
    "momentum": {"min": 0.0, "max": 0.9, "when": {"bias": True}},
}
MOST: Params = {"lr": 0.01, "layers": 2, "bias": True, "=name": "=1+1", "mixed": "one", "momentum": 0.5}
LEAST: Params = {"lr": 0.02, "layers": 3, "bias": False, "=name": "naïve 雪", "mixed": None}


@pytest.fixture
def sweep_id(service: ServiceRig) -> int:
    """Three trials: finished, failed, running."""
    sweep_id = service.sweep(parameters=PARAMETERS, program={"function": "train:objective"})
    service.device()
    finished = service.trial(sweep_id, 0, 0.875, params=MOST)
    service.points(finished, "val_accuracy", 0.25, 0.875)
    service.trial(sweep_id, 1, None, params=LEAST, cause=Cause.USER_ERROR)
    service.trial(sweep_id, 2, None, params={**MOST, "mixed": 1})
    return sweep_id


def rows_of(client: TestClient, sweep_id: int) -> list[dict[str, str]]:
    answer = client.get(f"/api/v1/sweeps/{sweep_id}/export.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="sweep-{sweep_id}.csv"'
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def test_csv_has_a_column_for_each_parameter_and_a_row_for_each_trial(client: TestClient, sweep_id: int) -> None:
    first, second, third = rows_of(client, sweep_id)
    assert [*first] == [
        "number", "state", "value", *(f"params_{name}" for name in PARAMETERS), "cause", "sampler",
        "fallback_reason", "fallback_error", "proposed_for", "attempts",
        "device", "devices", "peak_memory_mb", "peak_gpu_memory_mb", "created_at", "started_at", "ended_at",
        "duration_s", "running_s", "queued_s",
        *(f"metrics_val_accuracy_{figure}" for figure in ("last", "min", "min_step", "max", "max_step", "non_finite")),
        "trial_id",
    ]  # fmt: skip
    assert (first["number"], first["state"], first["value"], first["params_lr"]) == ("0", "finished", "0.875", "0.01")
    assert (first["params_bias"], first["params_layers"], first["params_momentum"]) == ("true", "2", "0.5")
    assert (first["params_mixed"], second["params_mixed"]) == ('"one"', "")
    assert (second["state"], second["value"], second["params_momentum"]) == ("failed", "", "")
    assert second["cause"] == "user_error"
    assert (third["state"], third["ended_at"], third["duration_s"]) == ("running", "", "")
    assert float(first["duration_s"]) >= 0


def test_what_chose_the_parameters_is_exported_as_data(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    failed = {"fallback_reason": FallbackReason.FAILED, "fallback_error": "=ValueError: no"}
    service.trial(sweep_id, 0, 0.5)
    service.trial(sweep_id, 1, 0.5, planned=failed)
    service.trial(sweep_id, 2, 0.5, planned={"sampler": "gp", "proposed_for": 1})
    names = ("sampler", "fallback_reason", "fallback_error", "proposed_for")
    assert [tuple(row[name] for name in names) for row in rows_of(client, sweep_id)] == [
        ("random", "", "", ""), ("random", "failed", "'=ValueError: no", ""), ("gp", "", "", "1"),
    ]  # fmt: skip
    as_data = [
        ("random", None, None, None), ("random", "failed", "=ValueError: no", None), ("gp", None, None, 1),
    ]  # fmt: skip
    lines = client.get(f"/api/v1/sweeps/{sweep_id}/export.jsonl").text.splitlines()
    assert [tuple(json.loads(line)[name] for name in names) for line in lines] == as_data
    table = pyarrow.parquet.read_table(
        io.BytesIO(client.get(f"/api/v1/sweeps/{sweep_id}/export.parquet").content), columns=list(names)
    )
    assert [tuple(row.values()) for row in table.to_pylist()] == as_data
    assert [str(field.type) for field in table.schema] == ["string", "string", "string", "int64"]


def test_all_devices_of_an_attempt_are_exported(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    names = ["cpu-1", "b:cpu-0"]
    for name in names:
        service.device(name)
    one = service.trial(sweep_id, 0, 0.5)
    several = one + 1
    gang = tuple(GangDevice(name, "node") for name in names)
    service.commit(
        TrialPlanned(several, sweep_id, 1, {"lr": 0.01}, "random", {}, AT),
        AttemptPlaced(AttemptKey(several, 1), sweep_id, 1, names[0], "node", AT, "0a1b2c3d", gang, 2.0),
    )
    lines = client.get(f"/api/v1/sweeps/{sweep_id}/export.jsonl").text.splitlines()
    expected = [["cpu-0"], names]
    assert [json.loads(line)["devices"] for line in lines] == expected
    assert [json.loads(row["devices"]) for row in rows_of(client, sweep_id)] == expected
    content = client.get(f"/api/v1/sweeps/{sweep_id}/export.parquet").content
    rows = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    assert [json.loads(row["devices"]) for row in rows] == expected
    assert [row["trial_id"] for row in rows] == [one, several]


def test_string_cell_is_never_a_formula(client: TestClient, sweep_id: int) -> None:
    first, second, _ = rows_of(client, sweep_id)
    assert first["params_=name"] == "'=1+1"
    assert second["params_=name"] == "naïve 雪"


@given(st.text())
def test_guarded_string_contains_the_string_and_starts_no_formula(text: str) -> None:
    guarded = export_writers.escape_formula(text)
    assert guarded.lstrip("'") == text.lstrip("'")
    assert not guarded.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_parquet_has_the_types_of_the_values(client: TestClient, sweep_id: int) -> None:
    answer = client.get(f"/api/v1/sweeps/{sweep_id}/export.parquet")
    table = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    types = {field.name: str(field.type) for field in table.schema}
    assert {types[name] for name in ("number", "params_layers", "attempts", "trial_id")} == {"int64"}
    assert {types[name] for name in ("value", "params_lr", "params_momentum", "duration_s")} == {"double"}
    assert types["params_bias"] == "bool"
    assert types["started_at"] == "timestamp[us, tz=UTC]"
    first, second, third = table.to_pylist()
    assert {name: first[f"params_{name}"] for name in MOST} == {**MOST, "mixed": '"one"'}
    assert (second["params_momentum"], second["params_mixed"], third["value"]) == (None, None, None)
    assert first["created_at"].timestamp() == AT


def test_column_with_integers_beyond_parquet_types_is_a_string(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    given = [-(2**63), 2**63 - 1, 2**63, 10**400]
    for number, value in enumerate(given):
        attrs = {"fits": min(value, 2**63 - 1), "large": value, "mixed": value if number else 0.5}
        service.trial(sweep_id, number, 0.5, user_attrs=attrs)
    content = client.get(f"/api/v1/sweeps/{sweep_id}/export.parquet").content
    rows = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    assert [row["user_attrs_fits"] for row in rows] == [*given[:2], 2**63 - 1, 2**63 - 1]
    assert [row["user_attrs_large"] for row in rows] == [str(value) for value in given]
    assert [row["user_attrs_mixed"] for row in rows] == ["0.5", *(str(value) for value in given[1:])]
    for kind in (Kind.INTEGER, Kind.NUMBER):
        assert export_writers.typed_value(10**400, kind) is None, "a value that arrived after the columns were chosen"


def test_json_lines_have_all_fields_and_optionally_the_curves(client: TestClient, sweep_id: int) -> None:
    first, second, _ = lines_of(client, sweep_id)
    assert (first["params"], second["params"]) == (MOST, LEAST)
    assert first["values"] == {"val_accuracy": 0.875}
    assert first["metrics"] == {"val_accuracy": [[0, 0.25], [1, 0.875]]}
    assert (second["values"], second["metrics"], second["state"]) == (None, {}, "failed")
    assert all(line["metrics"] == {} for line in lines_of(client, sweep_id, "?curves=false"))


def lines_of(client: TestClient, sweep_id: int, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/sweeps/{sweep_id}/export.jsonl{query}")
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize("size", [1, 2, 3, 500])
def test_chunks_join_to_the_whole_file(client: TestClient, service: ServiceRig, sweep_id: int, size: int) -> None:
    with service.database.read() as connection:
        shape = export_schema(connection, sweep_id)
    for file, curves in ((CSV, False), (JSON_LINES, True)):
        parts = export_routes.chunks(context_of(service), shape, curves, trials_per_chunk=size)
        assert (
            b"".join(file.write(shape, parts)) == client.get(f"/api/v1/sweeps/{sweep_id}/export.{file.suffix}").content
        )
    parts = export_routes.chunks(context_of(service), shape, False, trials_per_chunk=size)
    table = pyarrow.parquet.read_table(io.BytesIO(b"".join(PARQUET.write(shape, parts))))
    assert table.column("number").to_pylist() == [0, 1, 2]


def context_of(service: ServiceRig) -> ServiceContext:
    return ServiceContext(service.settings, service.database)


@pytest.mark.parametrize(("points", "parts"), [(1, [1, 2, 1]), (3, [1, 3]), (5, [3, 1]), (100, [4])])
def test_chunk_has_a_bounded_number_of_points_and_complete_curves(
    service: ServiceRig, client: TestClient, points: int, parts: list[int]
) -> None:
    sweep_id = service.sweep(parameters=PARAMETERS, program={"function": "train:objective"})
    service.device()
    for number, count in enumerate((3, 2, 0, 1)):
        trial = service.trial(sweep_id, number, 0.5, params=LEAST)
        service.points(trial, "val_accuracy", *(0.25,) * count)
    with service.database.read() as connection:
        wanted = export_schema(connection, sweep_id)
    found = list(export_routes.chunks(context_of(service), wanted, True, points_per_chunk=points))
    assert [len(part) for part in found] == parts
    curves = [trial.curves.get("val_accuracy", []) for part in found for trial in part]
    assert [len(curve) for curve in curves] == [3, 2, 0, 1]


def test_trials_added_during_the_export_are_excluded(service: ServiceRig, sweep_id: int) -> None:
    with service.database.read() as connection:
        wanted = export_schema(connection, sweep_id)
    parts = export_routes.chunks(context_of(service), wanted, False, trials_per_chunk=2)
    assert [trial.row.number for trial in next(parts)] == [0, 1]
    service.trial(sweep_id, 3, 0.5)
    assert [trial.row.number for part in parts for trial in part] == [2]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_sweep_without_trials_is_an_empty_table(client: TestClient, service: ServiceRig, suffix: str) -> None:
    answer = client.get(f"/api/v1/sweeps/{service.sweep()}/export.{suffix}")
    assert answer.status_code == 200
    if suffix == "parquet":
        table = pyarrow.parquet.read_table(io.BytesIO(answer.content))
        assert (table.num_rows, "params_lr" in table.column_names) == (0, True)
    else:
        assert len(answer.text.splitlines()) == (1 if suffix == "csv" else 0)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_unknown_sweep_is_404(client: TestClient, suffix: str) -> None:
    assert_problem(client.get(f"/api/v1/sweeps/9/export.{suffix}"), 404, "there is no sweep 9")


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates that pyarrow is not installed."""
    real = builtins.__import__

    def refusing(name: str, *more: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", refusing)


def test_parquet_without_pyarrow_is_501_and_names_the_extra(
    client: TestClient, sweep_id: int, without_pyarrow: None
) -> None:
    answer = client.get(f"/api/v1/sweeps/{sweep_id}/export.parquet")
    assert_problem(answer, 501, "pip install 'podium[parquet]'")


@pytest.mark.parametrize(
    ("types", "kind"),
    [
        ({"integer"}, Kind.INTEGER), ({"integer", "real"}, Kind.NUMBER), ({"true", "null"}, Kind.BOOLEAN),
        ({"text"}, Kind.TEXT), ({"text", "integer"}, Kind.JSON), ({"true", "integer"}, Kind.JSON), (set(), Kind.JSON),
    ],
)  # fmt: skip
def test_column_has_one_type(types: set[str], kind: Kind) -> None:
    assert kind_of(types) is kind
