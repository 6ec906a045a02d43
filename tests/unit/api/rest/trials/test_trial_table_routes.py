"""The trial table over REST: columns, pages, sort orders, filters; and the same filter on lists and exports."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from sqlalchemy import select, text, update
from starlette.testclient import TestClient

from podium.db.queries.trial_column_expressions import NOW
from podium.db.queries.trial_order import order_of
from podium.db.queries.trial_table import SPARSE
from podium.db.schema.tables import trials
from podium.db.stores import sweeps
from podium.sweep.lifecycle.database_changes import AttemptEnded, AttemptPlaced, AttemptStarted, TrialPlanned
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import FallbackReason
from podium.sweep.values.slot_events import Ended, Started
from podium.sweep.values.states import TrialState
from tests.commands import Podium
from tests.service_rig import AT, ServiceRig, assert_problem

URL = "/api/v1/sweeps"
LITERAL = {"literal_binds": True}


@pytest.fixture
def sweep_id(service: ServiceRig) -> int:
    """Six trials: some without a value, one without its parameter, one with a string parameter."""
    sweep_id = service.sweep()
    rows: list[tuple[Params, float | None, Cause | None]] = [
        ({"lr": 0.03}, 0.5, None),
        ({"lr": 0.01}, None, Cause.NON_FINITE),
        ({"lr": "high"}, 0.9, None),
        ({"other": 1}, None, None),
        ({"lr": 0.02}, 0.5, None),
        ({"lr": 0.02}, 0.1, None),
    ]
    for number, (params, value, cause) in enumerate(rows):
        attrs: dict[str, Any] = {"size": 10 * number, "kind": "a"} if number == 2 else {"size": 5 - number}
        service.trial(sweep_id, number, value, params=params, cause=cause, model=False, user_attrs=attrs)
    return sweep_id


def numbers(client: TestClient, sweep_id: int, **query: Any) -> list[int]:
    """All trials, followed by `next`."""
    found: list[int] = []
    while True:
        answer = client.get(f"{URL}/{sweep_id}/table", params=query)
        assert answer.status_code == 200, answer.text
        table = answer.json()
        found += table["columns"]["number"]
        if table["next"] is None:
            return found
        query["after"] = table["next"]


def test_table_is_columns(client: TestClient, sweep_id: int) -> None:
    table = client.get(f"{URL}/{sweep_id}/table", params={"limit": 3}).json()
    assert (table["total"], table["matching"], table["next"], table["found"]) == (6, 6, 2, None)
    columns = table["columns"]
    assert {len(column) for column in columns.values()} == {3}
    assert columns["number"] == [0, 1, 2]
    assert columns["state"] == ["finished", "failed", "finished"]
    assert columns["value"] == [0.5, None, 0.9]
    assert columns["params.lr"] == [0.03, 0.01, "high"]
    assert columns["attrs.kind"] == [None, None, "a"]
    assert columns["cause"] == [None, "non_finite", None]
    assert columns["error"] == [None, "it broke", None]
    assert columns["duration_s"] == [2.0, 2.0, 2.0]
    assert columns["device"] == ["cpu-0"] * 3
    assert columns["tags"] == [[], [], []]
    assert columns["violated"] == [False] * 3


def test_sparse_columns_are_left_out_of_windows_without_values(client: TestClient, sweep_id: int) -> None:
    first, second = (
        client.get(f"{URL}/{sweep_id}/table", params={"limit": 1, "offset": offset}).json()["columns"]
        for offset in (0, 1)
    )
    assert not set(SPARSE) & set(first)
    assert {name: second[name] for name in SPARSE if name in second} == {"cause": ["non_finite"], "error": ["it broke"]}
    assert second["value"] == [None]  # the other columns are always there
    assert {name for name in first if not name.startswith("attrs.")} == set(second) - set(SPARSE)


def test_table_sorts_by_figures_of_metrics_and_marks_what_is_not_finite(
    client: TestClient, service: ServiceRig
) -> None:
    sweep_id = service.sweep()
    for number, values in enumerate([(3.0, 1.0), (2.0, math.nan), (), (0.5, 4.0)]):
        service.points(service.trial(sweep_id, number, 0.5, model=False), "val/loss", *values)
    for sort, expected in {
        "min(val/loss)": [3, 0, 1, 2],
        "-max(val/loss)": [3, 0, 1, 2],
        "-metrics.val/loss": [3, 1, 0, 2],
        "min_step(val/loss)": [1, 3, 0, 2],
    }.items():
        assert numbers(client, sweep_id, sort=sort, limit=1) == expected, sort
    wanted = {"metrics": ["min(val/loss)", "last_step(val/loss)", "max(other)"]}
    columns = client.get(f"{URL}/{sweep_id}/table", params=wanted).json()["columns"]
    assert columns["min(val/loss)"] == [1.0, 2.0, None, 0.5]
    assert columns["last_step(val/loss)"] == [1, 0, None, 1]
    assert columns["non_finite(val/loss)"] == [0, 1, None, 0]
    assert columns["max(other)"] == [None] * 4
    listed = client.get(f"{URL}/{sweep_id}/trials", params={"metrics": "min(val/loss)"}).json()["items"]
    assert listed[1]["metrics"] == {"min(val/loss)": 2.0, "non_finite(val/loss)": 1}
    detail = client.get("/api/v1/trials/2/metric-summaries").json()
    assert detail["non_finite"] == {"val/loss": [[1, "nan"]]}
    assert (detail["metrics"][0]["min"], detail["metrics"][0]["non_finite"]) == (2.0, 1)


def test_running_time_leaves_out_the_queue_between_attempts(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    first = AttemptKey(1, 1)
    lost = Ended(first, TrialState.FAILED, AT + 5, AT + 8, cause=Cause.NODE_LOST)
    second = AttemptKey(1, 2)
    done = Ended(second, TrialState.FINISHED, AT + 100, AT + 107, values=(0.5,))
    service.commit(
        TrialPlanned(1, sweep_id, 0, {"lr": 0.1}, "random", {}, AT),
        AttemptPlaced(first, sweep_id, 0, "cpu-0", "node", AT + 5, "a"),
        AttemptStarted(Started(first, 4321, AT + 5, "", "cpu")),
        AttemptEnded(lost, sweep_id, 0, TrialState.WAITING, 3.0),
        AttemptPlaced(second, sweep_id, 0, "cpu-0", "node", AT + 100, "b"),
        AttemptStarted(Started(second, 4321, AT + 100, "", "cpu")),
        AttemptEnded(done, sweep_id, 0, TrialState.FINISHED, 7.0, ()),
    )
    columns = client.get(f"{URL}/{sweep_id}/table").json()["columns"]
    assert (columns["duration_s"], columns["running_s"], columns["queued_s"]) == ([102.0], [10.0], [97.0])
    trial = client.get("/api/v1/trials/1").json()
    assert (trial["running_s"], trial["queued_s"]) == (10.0, 97.0)
    assert numbers(client, sweep_id, filter="running_s<11 queued_s>90") == [0]
    assert numbers(client, sweep_id, sort="-running_s") == [0]


def test_what_chose_the_parameters_is_data(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    rows: list[dict[str, Any]] = [
        {"sampler": "gp"},
        {"sampler": "gp", "proposed_for": 0},
        {"fallback_reason": FallbackReason.SLOW},
        {"fallback_reason": FallbackReason.FAILED, "fallback_error": "ValueError: no"},
        {"fallback_reason": FallbackReason.PROCESS_ENDED},
    ]
    ids = [service.trial(sweep_id, number, 0.5, planned=planned) for number, planned in enumerate(rows)]
    names = ("sampler", "fallback_reason", "fallback_error", "proposed_for")
    none: dict[str, Any] = {"sampler": "random"} | dict.fromkeys(names[1:])
    columns = client.get(f"{URL}/{sweep_id}/table").json()["columns"]
    for number, planned in enumerate(rows):
        view = client.get(f"/api/v1/trials/{ids[number]}").json()
        assert {name: view[name] for name in names} == none | planned
        assert {name: columns[name][number] for name in names} == none | planned
    assert numbers(client, sweep_id, sort="fallback_reason") == [3, 4, 2, 0, 1]
    assert numbers(client, sweep_id, sort="-proposed_for") == [1, 0, 2, 3, 4]


def test_trial_without_a_value_shows_its_last_report(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    metric = client.get(f"{URL}/{sweep_id}").json()["spec"]["metric"]["name"]
    running = service.trial(sweep_id, 0, None)
    service.points(running, metric, 0.25, 0.5, 0.75)
    service.points(running, "other", *[7.0] * 5)
    columns = client.get(f"{URL}/{sweep_id}/table").json()["columns"]
    assert (columns["value"], columns["reported"], columns["reported_step"]) == ([None], [0.75], [2])


def test_sweep_without_trials_has_its_columns(client: TestClient, service: ServiceRig) -> None:
    table = client.get(f"{URL}/{service.sweep()}/table").json()
    assert (table["total"], table["matching"], table["next"]) == (0, 0, None)
    assert table["columns"]["params.lr"] == []


def test_each_objective_is_a_column(client: TestClient, service: ServiceRig) -> None:
    metrics = [{"name": "loss", "goal": "minimize"}, {"name": "size", "goal": "minimize"}]
    sweep_id = service.sweep(metric=None, metrics=metrics, program={"function": "train:objective"})
    service.trial(sweep_id, 0, (0.5, 10.0), model=False, constraints={"latency": 1.0})
    columns = client.get(f"{URL}/{sweep_id}/table").json()["columns"]
    assert (columns["values.loss"], columns["values.size"]) == ([0.5], [10.0])
    assert (columns["constraints.latency"], columns["violated"]) == ([1.0], [True])


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        pytest.param("number", [0, 1, 2, 3, 4, 5], marks=pytest.mark.slow),
        pytest.param("-number", [5, 4, 3, 2, 1, 0], marks=pytest.mark.slow),
        ("value", [5, 0, 4, 2, 1, 3]),
        pytest.param("-value", [2, 0, 4, 5, 1, 3], marks=pytest.mark.slow),
        ("best", [2, 0, 4, 5, 1, 3]),
        pytest.param("-best", [5, 0, 4, 2, 1, 3], marks=pytest.mark.slow),
        ("values.val_accuracy", [5, 0, 4, 2, 1, 3]),
        pytest.param("params.lr", [1, 4, 5, 0, 2, 3], marks=pytest.mark.slow),
        ("-params.lr", [0, 4, 5, 1, 2, 3]),
        pytest.param("state", [3, 0, 2, 4, 5, 1], marks=pytest.mark.slow),
        ("cause", [1, 0, 2, 3, 4, 5]),
        ("device", [0, 1, 2, 3, 4, 5]),
        pytest.param("attrs.size", [5, 4, 0, 2, 1, 3], marks=pytest.mark.slow),
        ("-attrs.kind", [2, 0, 1, 3, 4, 5]),
        ("-id", [5, 4, 3, 2, 1, 0]),
        pytest.param(
            "duration_s", [0, 1, 2, 4, 5, 3], marks=pytest.mark.slow
        ),  # the last one runs, so its duration grows with each request
        ("-duration_s", [3, 0, 1, 2, 4, 5]),
    ],
)
def test_pages_in_any_order_contain_every_trial_once(
    client: TestClient, service: ServiceRig, sweep_id: int, sort: str, expected: list[int]
) -> None:
    for limit in (1, 2, 3, 500):
        assert numbers(client, sweep_id, sort=sort, limit=limit) == expected, limit
    offset = client.get(f"{URL}/{sweep_id}/table", params={"sort": sort, "offset": 2, "limit": 3}).json()
    assert offset["columns"]["number"] == expected[2:5]


def test_running_trial_is_not_repeated_on_the_next_page(service: ServiceRig, sweep_id: int) -> None:
    with service.database.read() as connection:
        order = order_of("duration_s", sweeps.get(connection, sweep_id))
        assert order is not None
        past = order.past_trial(connection, sweep_id, 3)
        before = connection.execute(select(NOW)).scalar_one()
        while connection.execute(select(NOW)).scalar_one() == before:  # its duration grows with each request
            pass
        assert not connection.execute(select(trials.c.number).where(trials.c.sweep_id == sweep_id, past)).all()


@pytest.mark.sqlite
@pytest.mark.parametrize("path", ["params.suggested", "attrs.size", "device"])
def test_sort_value_is_read_once_per_trial(service: ServiceRig, sweep_id: int, path: str) -> None:
    with service.database.read() as connection:
        order = order_of(path, sweeps.get(connection, sweep_id))
        assert order is not None
        where = order.after([0.5] * len(order.columns), 3)
        statement = select(trials.c.id, *order.columns).select_from(order.source).where(where).order_by(*order.by())
        query = statement.compile(dialect=connection.dialect, compile_kwargs=LITERAL)
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all()
    assert [row[-1] for row in plan if "SUBQUERY" in row[-1]] == []
    assert len([row for row in plan if row[-1].startswith("SEARCH")]) == 1


@pytest.mark.parametrize("path", ["table", "trials"])
def test_trial_that_changes_between_pages_does_not_affect_others(
    client: TestClient, service: ServiceRig, sweep_id: int, path: str
) -> None:
    def page(**query: Any) -> tuple[list[int], Any]:
        answer = client.get(f"{URL}/{sweep_id}/{path}", params={"sort": "-value", "limit": 2, **query}).json()
        rows = answer["columns"]["number"] if path == "table" else [trial["number"] for trial in answer["items"]]
        return rows, answer["next"]

    found, following = page()
    assert found == [2, 0]
    for value, rest in ((0.05, [4, 5, 0]), (0.95, [4, 5, 1, 3]), (None, [4, 5, 0, 1, 3])):
        with service.database.write() as connection:
            connection.execute(update(trials).where(trials.c.number == 0).values(value=value))
        assert page(after=following, limit=6)[0][: len(rest)] == rest


def test_cursor_in_a_long_string_is_looked_up(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(3):
        service.trial(sweep_id, number, 0.5, params={"text": "x" * 5000 + str(number)}, model=False)
    assert numbers(client, sweep_id, sort="-params.text", limit=1) == [2, 1, 0]


@pytest.mark.parametrize("path", ["table", "trials"])
def test_invalid_cursor_is_refused(client: TestClient, sweep_id: int, path: str) -> None:
    of_value = client.get(f"{URL}/{sweep_id}/table", params={"sort": "value", "limit": 1}).json()["next"]
    made: list[Any] = [["value", 1], ["value", -1, [0.5]], ["value", True, [0.5]], ["value", 1, []], {"value": 1}, 7]
    made += [["value", 1, [[]]], ["value", 1, {"a": 1}], ["value", 1, [True]], ["value", 2**63, [0.5]]]
    made += [["value", 1, [2**64]], ["value", None, None], [["value"], 1, [0.5]]]
    texts = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode() for each in made]
    for sort, cursors in (("value", [*texts, "x", "", "ä", "5", "[" * 1000]), ("number", [of_value, "x", "-1", "٣"])):
        for cursor in cursors:
            answer = client.get(f"{URL}/{sweep_id}/{path}", params={"sort": sort, "after": cursor})
            assert_problem(answer, 400, "use the `next` of the previous page")
    other = client.get(f"{URL}/{sweep_id}/{path}", params={"sort": "-value", "after": of_value})
    assert_problem(other, 400, "with the same `sort`")
    assert_problem(client.get(f"{URL}/{sweep_id}/{path}", params={"after": "x" * 2001}), 422)


def test_filter_has_a_count_and_works_with_an_order(client: TestClient, sweep_id: int) -> None:
    query: dict[str, Any] = {"filter": "lr>=0.02", "sort": "-value", "limit": 2}
    table = client.get(f"{URL}/{sweep_id}/table", params=query).json()
    assert (table["total"], table["matching"]) == (6, 3)
    assert numbers(client, sweep_id, **query) == [0, 4, 5]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"find": 4}, 4),
        ({"find": 4, "sort": "-value"}, 2),
        ({"find": 3, "sort": "-value"}, 5),
        ({"find": 4, "filter": "lr>=0.02", "sort": "-value"}, 1),
        ({"find": 1, "filter": "lr>=0.02"}, None),
        ({"find": 99}, None),
    ],
)
def test_position_of_a_trial_is_found(
    client: TestClient, sweep_id: int, query: dict[str, Any], place: int | None
) -> None:
    assert client.get(f"{URL}/{sweep_id}/table", params=query).json()["found"] == place


def test_invalid_filter_names_the_position(client: TestClient, sweep_id: int) -> None:
    for path in ("table", "trials", "export.csv", "export.jsonl"):
        answer = client.get(f"{URL}/{sweep_id}/{path}", params={"filter": "lr<1 stat:failed"})
        problem = assert_problem(answer, 400, "at character 6: unknown name 'stat' (did you mean state?)")
        assert (problem["position"], problem["length"]) == (5, 4)
    many = ",".join(["*a*"] * 51)
    assert_problem(client.get(f"{URL}/{sweep_id}/table", params={"filter": f"lr:{many}"}), 400, "at most 50 ranges")
    assert_problem(client.get(f"{URL}/{sweep_id}/table", params={"sort": "nope"}), 400, "params.NAME")
    assert_problem(client.get(f"{URL}/{sweep_id}/table", params={"filter": "x" * 2001}), 422, "2000")
    assert_problem(client.get(f"{URL}/9/table"), 404, "there is no sweep 9")


def test_lists_and_exports_accept_the_same_filter(client: TestClient, sweep_id: int) -> None:
    query = {"filter": "lr>=0.02 -#0"}
    found = client.get(f"{URL}/{sweep_id}/trials", params={**query, "sort": "-params.lr", "limit": 1}).json()
    assert [trial["number"] for trial in found["items"]] == [4]
    found = client.get(
        f"{URL}/{sweep_id}/trials", params={**query, "sort": "-params.lr", "after": found["next"]}
    ).json()
    assert ([trial["number"] for trial in found["items"]], found["next"]) == ([5], None)
    lines = client.get(f"{URL}/{sweep_id}/export.csv", params=query).text.splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["4", "5"]
    assert client.get(f"{URL}/{sweep_id}/export.jsonl", params=query).text.count("\n") == 2
    assert client.get(f"{URL}/{sweep_id}/export.parquet", params=query).status_code == 200


def test_help_of_commands_explains_filters(podium: Podium) -> None:
    for command in (("trial", "list"), ("sweep", "export")):
        status, said, _ = podium(*command, "--help")
        assert status == 0
        assert "--filter" in said


def test_matching_trials_are_counted_by_state(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(4):
        service.trial(sweep_id, number, 0.5, params={"lr": number / 10}, model=False)
    service.trial(sweep_id, 4, None, cause=Cause.USER_ERROR, params={"lr": 0.3})
    service.trial(sweep_id, 5, None, params={"lr": 0.1})
    service.trial(service.sweep(), 0, 0.5, params={"lr": 0.3})
    client, path = service.client(), f"/api/v1/sweeps/{sweep_id}/trial-counts"
    running = client.get(f"/api/v1/sweeps/{sweep_id}").json()["counts"]
    assert client.get(path).json() == {"counts": {state: count for state, count in running.items() if count}}
    assert client.get(path, params={"filter": "lr>0.15"}).json() == {"counts": {"finished": 2, "failed": 1}}
    assert client.get(path, params={"filter": "state:failed"}).json() == {"counts": {"failed": 1}}
    assert client.get(path, params={"filter": "lr>9"}).json() == {"counts": {}}
    assert_problem(client.get(path, params={"filter": "nope<3"}), 400, "nope")
    assert_problem(client.get("/api/v1/sweeps/99/trial-counts"), 404, "99")
