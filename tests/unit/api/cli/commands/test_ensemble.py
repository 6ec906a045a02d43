"""`podium ensemble`: its requests, output and exit codes, with a server that returns prepared answers."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, cast, get_args

import httpx2
import numpy as np
import pytest

from podium.api.cli.terminal import ensemble_build_options, ensemble_output
from podium.api.client import service_for_command
from podium.api.client.client import Client
from podium.api.rest.ensembles.ensemble_schemas import EnsembleView, EvaluationView
from podium.ensemble.scoring import ensemble_and_member_evaluation
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Mode, Placement, Precision, Rule, Select, Split, Task
from podium.sweep.values.errors import ServiceError
from tests.commands import Podium
from tests.specs import builtin_document

URL = "/api/v1/ensembles"
NAMED = [{"trial_id": 11 + number, "trial_number": 7 + number, "sweep_id": 1} for number in range(2)]


def ensemble(*states: str, **changes: Any) -> dict[str, Any]:
    """An ensemble as returned by REST, with a member in each of these states."""
    members = [
        {
            "id": position + 1,
            "position": position,
            "trial_id": 11 + position,
            "trial_number": 7 + position,
            "sweep_id": 1,
            "weight": 1 / len(states),
            "state": state,
            "reason": "no such file" if state == "failed" else "",
            "precision": {
                "requested": "float32",
                "used": "float32",
                "reason": "",
                "rows": 0,
                "device": "",
                "figures": [],
            },
            "replicas": [_replica(position + 1, state)],
        }
        for position, state in enumerate(states)
    ]
    view = {
        "id": 3,
        "name": "digits-1",
        "sweep_id": 1,
        "state": "ready",
        "reason": "",
        "version": 1,
        "target": None,
        "canary": None,
        "canary_share": 0.0,
        "created_at": "2026-11-21T09:00:00Z",
        "mode": "between_graph",
        "task": "classification",
        "combine": "weighted",
        "temperature": 1.25,
        "quorum": 2,
        "deadline_ms": 1000.0,
        "placement": "shared",
        "devices": 1,
        "precision": "float32",
        "max_loss_increase": 0.01,
        "classes": ["cat", "dog"],
        "features": 4,
        "selection": {
            "method": "greedy", "path": [{"position": 0, "trial_id": 11, "score": 0.4321}] * 9, "note": "stopped at 1",
            "candidates": 18, "best_member": 0, "fitted_on": "calibration", "forced": False,
        },
        "plan": {},
        "members": members,
        "versions": [_version(1, "active")],
    }  # fmt: skip
    return EnsembleView.model_validate(view | changes).model_dump(mode="json")


def _replica(number: int, state: str) -> dict[str, Any]:
    return {
        "id": number, "number": 0, "state": state, "reason": "", "device_id": "cpu-0", "device_ids": ["cpu-0"],
        "node": "node", "pid": 4000 + number, "epoch": 2, "restarts": 1, "p50_ms": 1.25, "p99_ms": 20.5,
        "late_share": 0.125, "waiting": 0,
    }  # fmt: skip


def _version(number: int, role: str) -> dict[str, Any]:
    return {
        "number": number, "role": role, "combine": "mean", "k": 2,
        "trial_ids": [11, 12], "members": NAMED, "created_at": None,
    }  # fmt: skip


def measured(task: Task, **changes: Any) -> dict[str, Any]:
    """An evaluation of two members on eight rows, as returned by REST."""
    generator = np.random.default_rng(0)
    if task is Task.CLASSIFICATION:
        predictions = generator.dirichlet([1.0, 1.0], (2, 8)).astype(np.float32)
        targets: Any = generator.integers(0, 2, 8)
    else:
        predictions, targets = (generator.normal(size=s).astype(np.float32) for s in ((2, 8, 1), (8, 1)))
    combination = Combination(task, Rule.MEAN, (0.5, 0.5), noise_variance=() if targets.ndim == 1 else (0.25,))
    result = ensemble_and_member_evaluation.evaluate(
        "test", predictions, targets, combination, quorum=1, flags=("chosen on it",)
    ).to_dict()
    result |= {"mode": "between_graph", "version": 1}
    view = {
        "id": 5, "ensemble_id": 3, "version": 1, "split": "test", "state": "finished", "reason": "",
        "result": result, "created_at": None, "ended_at": None,
    }  # fmt: skip
    return EvaluationView.model_validate(view | changes).model_dump(mode="json")


PREDICTED = {
    "ensemble": "digits-1", "version": 1, "mode": "between_graph", "outcome": "degraded", "requested": 2, "answered": 1,
    "quorum": 1, "degraded": True, "deadline_ms": 200.0, "total_ms": 201.5, "outputs": [[0.25, 0.75]],
    "labels": ["dog"], "entropy": [0.5623], "mutual_information": [0.0], "weights": [1.0],
    "members": [
        {"member_id": 1, **NAMED[0], "status": "ok", "epoch": 2, "queue_ms": 0.1, "compute_ms": 3.4, "message": ""},
        {"member_id": 2, **NAMED[1], "status": "late", "epoch": 2, "queue_ms": 0, "compute_ms": 0, "message": ""},
    ],
}  # fmt: skip


class Server:
    """Returns prepared answers by route, the last one repeatedly, and records its requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self._answers: dict[tuple[str, str], list[Any]] = {}

    def on(self, method: str, path: str, *answers: Any, status: int = 200) -> None:
        self._answers[method, path] = [(status, answer) for answer in answers]

    def client(self) -> Client:
        http = httpx2.Client(base_url="http://testserver", transport=httpx2.MockTransport(self._answer))
        made = Client("http://testserver", "token", http=http)
        made.poll_s = made.refresh_s = 0
        return made

    def bodies(self, path: str) -> list[Any]:
        """The bodies posted to this path."""
        return [body for method, asked, body in self.asked if (method, asked) == ("POST", path)]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        is_json = request.headers.get("content-type") == "application/json"
        body = json.loads(request.content) if is_json else request.content
        self.asked.append((request.method, path, body))
        left = self._answers.get((request.method, path))
        if left is None:
            return httpx2.Response(404, json={"detail": f"there is no {path}"})
        status, answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, BaseException):
            raise answer
        return httpx2.Response(status, json=answer)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """The service that every command finds: one ready ensemble."""
    made = Server()
    made.on("GET", URL, {"items": [ensemble("ready", "ready")], "next": None})
    made.on("GET", f"{URL}/3", ensemble("ready", "ready"))
    made.on("POST", URL, ensemble("starting", "starting", state="building"), status=201)
    monkeypatch.setattr(Client, "of", lambda _: made.client())
    return made


# Building.

OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "nothing": ((), {}),
    "choosing": (("-k", "5", "--select", "greedy", "--bags", "7"), {"k": 5, "select": "greedy", "bags": 7}),
    "combining": (
        ("--combine", "weighted", "--calibrate", "--fit-on", "validation", "--force"),
        {"combine": "weighted", "calibrate": True, "fit_on": "validation", "force": True},
    ),
    "running": (
        ("--mode", "in_graph", "--precision", "bfloat16", "--placement", "dedicated", "--replicas", "2"),
        {"mode": "in_graph", "precision": "bfloat16", "placement": "dedicated", "replicas": 2},
    ),
    "several devices": (("--devices", "2"), {"devices": 2}),
    "lower precision": (
        ("--precision", "int8", "--max-loss-increase", "0.02"),
        {"precision": "int8", "max_loss_increase": 0.02},
    ),
    "precisions": (
        ("-k", "2", "--precision", "int8,float32"),
        {"k": 2, "precision": ["int8", "float32"]},
    ),
    "answering": (
        ("--deadline-ms", "50", "--quorum", "1", "--name", "podium"),
        {"deadline_ms": 50.0, "quorum": 1, "name": "podium"},
    ),
}


@pytest.mark.parametrize(("arguments", "sent"), OPTIONS.values(), ids=OPTIONS)
def test_only_given_options_are_sent(
    podium: Podium, server: Server, arguments: tuple[str, ...], sent: dict[str, Any]
) -> None:
    code, out, err = podium("ensemble", "build", "1", *arguments, "--no-wait")
    assert (code, err) == (0, "")
    assert server.bodies(URL) == [{"sweep_id": 1, **sent}]
    assert "ensemble 3 'digits-1': building; podium ensemble show 3" in out


def test_trials_are_given_individually_with_their_weights(podium: Podium, server: Server) -> None:
    arguments = ("--trial", "11", "--trial", "9", "--combine", "weighted", "--weights", "0.25,0.75")
    assert podium("ensemble", "build", *arguments, "--no-wait")[0] == 0
    assert server.bodies(URL) == [{"trial_ids": [11, 9], "combine": "weighted", "weights": [0.25, 0.75]}]


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing to choose from": ((), "give either SWEEP or one --trial for each trial"),
    "both": (("1", "--trial", "4"), "give either SWEEP or"),
    "no such rule": (("1", "--combine", "best"), "'best' is not one of 'mean', 'logit_mean'"),
    "no k": (("1", "-k", "0"), "-k: input should be greater than or equal to 1"),
    "a quorum above k": (("1", "--quorum", "4"), "--quorum: 4 exceeds the number of members, k: 3"),
    "fitting where chosen": (("1", "--fit-on", "validation"), "--fit-on: members were selected on validation"),
    "one weight": (("--trial", "1", "--trial", "2", "--weights", "1"), "--weights: must have one weight for each"),
    "no weights": (("--trial", "1", "--weights", "x"), "--weights: input should be a valid number"),
    "a trial twice": (("--trial", "1", "--trial", "1"), "--trial: must not contain duplicates"),
    "an empty name": (("1", "--name", ""), "--name: string should have at least 1"),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
def test_invalid_options_exit_2_and_nothing_is_sent(
    podium: Podium, server: Server, arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = podium("ensemble", "build", *arguments)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert server.asked == []


@pytest.mark.parametrize(
    ("option", "enum", "without"),
    [
        (ensemble_build_options.Selecting, Select, {Select.EXPLICIT}),  # selected by --trial
        (ensemble_build_options.Combining, Rule, set()),
        (ensemble_build_options.FitOn, Split, {Split.TEST}),
        (ensemble_build_options.Modes, Mode, set()),
        (ensemble_build_options.Placing, Placement, set()),
    ],
    ids=["select", "combine", "fit on", "mode", "placement"],
)
def test_choices_of_an_option_are_the_values_of_its_enum(
    option: Any, enum: type[StrEnum], without: set[StrEnum]
) -> None:
    literal, _ = get_args(get_args(option)[0])
    assert set(get_args(literal)) == {one.value for one in set(enum) - without}


def test_help_lists_every_precision(podium: Podium) -> None:
    _, out, _ = podium("ensemble", "build", "--help")
    assert all(precision.value in out for precision in Precision)


def test_build_is_followed_until_every_member_is_ready(podium: Podium, server: Server) -> None:
    warming = ensemble("ready", "warming", state="building")
    server.on("GET", f"{URL}/3", warming, warming, ensemble("ready", "ready"))
    code, out, err = podium("ensemble", "build", "1")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [
        "ensemble 3 'digits-1': building; 1 of 2 members ready",
        "ensemble 3 'digits-1': ready; 2 of 2 members ready",
    ]
    assert "cpu-0" in out


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (ensemble("ready", "failed", state="degraded", reason="1 of 2 members"), 0),
        (ensemble("failed", "failed", state="below_quorum", reason="0 of 2 members"), 1),
        (ensemble("starting", state="stopped", reason="stopped on request"), 1),
    ],
    ids=lambda value: value["state"] if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("as_json", [False, True])
def test_waiting_ends_in_a_state_that_does_not_change(
    podium: Podium, server: Server, last: dict[str, Any], code: int, as_json: bool
) -> None:
    server.on("GET", f"{URL}/3", ensemble("starting", state="building"), last)
    found, out, _ = podium("ensemble", "build", "1", *(["--json"] if as_json else []))
    assert found == code
    if as_json:
        assert json.loads(out) == last
    else:
        assert last["reason"] in out


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_exits_130_while_the_build_continues(podium: Podium, server: Server, as_json: bool) -> None:
    server.on("GET", f"{URL}/3", KeyboardInterrupt())
    code, _, err = podium("ensemble", "build", "1", *(["--json"] if as_json else []))
    assert code == 130
    assert err == "ensemble 3 continues to build; `podium ensemble show 3` to check\n"


def test_refused_build_exits_1_with_the_message_of_the_server(podium: Podium, server: Server) -> None:
    server.on("POST", URL, {"detail": "k is 9, but only 2 trials"}, status=422)
    assert podium("ensemble", "build", "1", "-k", "9") == (1, "", "k is 9, but only 2 trials\n")


# Display.


def test_show_prints_the_device_and_health_of_each_member(podium: Podium, server: Server) -> None:
    code, out, err = podium("ensemble", "show", "3")
    assert (code, err) == (0, "")
    for words in (
        "ensemble 3 'digits-1': ready",
        "version 1: between_graph, weighted of 2, quorum 2, deadline 1,000 ms, float32, shared devices",
        "calibrated: temperature 1.25",
        "selection: greedy of 18 finished trials; fitted on calibration",
        "stopped at 1",
        "trials in order, with the validation loss: 7 (0.4321), 7 (0.4321)",
        "… 9 steps",
    ):
        assert words in out
    assert ["7", "–", "11", "0.5", "ready", "cpu-0", "4001", "2", "1.25", "20.5", "12.5", "%"] in [
        line.split() for line in out.splitlines()
    ]


def test_each_replica_has_a_line(podium: Podium, server: Server) -> None:
    found = ensemble("ready")
    without_requests = {"number": 1, "p50_ms": None, "p99_ms": None, "late_share": None}
    found["members"][0]["replicas"].append(_replica(9, "restarting") | without_requests)
    server.on("GET", f"{URL}/3", found)
    out = podium("ensemble", "show", "3")[1]
    lines = [line.split() for line in out.splitlines() if line.strip().startswith("7")]
    assert [line[4] for line in lines] == ["ready", "restarting"]


def test_canary_and_target_version_are_shown(podium: Podium, server: Server) -> None:
    versions = [_version(1, "active"), _version(2, "canary")]
    server.on("GET", f"{URL}/3", ensemble("ready", canary=2, canary_share=0.1, versions=versions))
    out = podium("ensemble", "show", "3")[1]
    assert "version 2 answers 10 % of the requests as a canary" in out
    out = podium("ensemble", "version", "list", "3")[1]
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [["1", "active"], ["2", "canary"]]
    server.on("GET", f"{URL}/3", ensemble("ready", target=2))
    assert "version 2 becomes active when it is ready" in podium("ensemble", "show", "3")[1]


def test_ensembles_are_listed(podium: Podium, server: Server) -> None:
    code, out, _ = podium("ensemble", "list")
    assert code == 0
    assert out.splitlines()[1].split() == ["3", "digits-1", "ready", "2/2", "between_graph", "weighted", "1", "1"]


def test_ensemble_may_be_given_by_name(podium: Podium, server: Server) -> None:
    assert podium("ensemble", "show", "digits-1", "--json") == podium("ensemble", "show", "3", "--json")
    code, out, err = podium("ensemble", "show", "digit")
    assert (code, out) == (1, "")
    assert err == "there is no ensemble 'digit'; `podium ensemble list` lists all ensembles\n"


@pytest.mark.parametrize("command", [("list",), ("show", "3"), ("version", "list", "3")], ids=" ".join)
def test_json_is_one_document(podium: Podium, server: Server, command: tuple[str, ...]) -> None:
    code, out, err = podium("ensemble", *command, "--json")
    assert (code, err) == (0, "")
    whole = ensemble("ready", "ready")
    assert json.loads(out) == {"list": [whole], "show": whole, "version": whole["versions"]}[command[0]]


# Evaluation.


def test_evaluation_prints_scores_significance_and_safe_quorum(podium: Podium, server: Server) -> None:
    found = measured(Task.CLASSIFICATION)
    server.on("POST", f"{URL}/3/evaluate", found)
    code, out, err = podium("ensemble", "evaluate", "3", "--force", "--version", "1")
    assert (code, err) == (0, "")
    assert server.bodies(f"{URL}/3/evaluate") == [{"version": 1, "split": "test", "force": True}]
    scores, pairs = found["result"]["ensemble"], found["result"]["mcnemar"]
    for words in (
        "digits-1, version 1, on 8 rows (test):",
        "trial 7 (best single)",
        f"{scores['accuracy']:.4f}",
        f"{scores['log_loss']:.4f}",
        f"{found['result']['difference']:+.4f} accuracy, 95 % interval",
        f"only the ensemble is right: {pairs['only_ensemble_right']}; only the best single network: ",
        f"{pairs['only_best_right']}; McNemar's p = ",
        "Mean pairwise disagreement",
        "Entropy of a prediction",
        "worst accuracy",
        "afe quorum" if found["result"]["degradation"]["safe_quorum"] else "No quorum is safe",
        "Caveat: chosen on it",
    ):
        assert words in out
    assert json.loads(podium("ensemble", "evaluate", "3", "--json")[1]) == found


def test_evaluation_of_regression_prints_its_own_figures(podium: Podium, server: Server) -> None:
    found = measured(Task.REGRESSION, version=2)
    server.on("POST", f"{URL}/3/evaluate", found)
    server.on("GET", f"{URL}/3", ensemble("ready", versions=[_version(1, "active"), _version(2, "canary")]))
    out = podium("ensemble", "evaluate", "3")[1]
    for words in ("RMSE", "MAE", "NLL", "trial 7 (best single)", "Mean pairwise difference", "Variance of"):
        assert words in out
    assert "McNemar" not in out


@pytest.mark.parametrize(
    ("safe", "quorum", "words"),
    [
        (None, 1, "No quorum is safe"),
        (2, 1, "The quorum is 1: a degraded answer may be worse"),
        (2, 2, "Safe quorum: 2 of 2: any 2 members are no worse"),
    ],
)
def test_safe_quorum_is_explained(podium: Podium, server: Server, safe: int | None, quorum: int, words: str) -> None:
    found = measured(Task.CLASSIFICATION)
    found["result"]["quorum"] = quorum
    found["result"]["degradation"]["safe_quorum"] = safe
    server.on("POST", f"{URL}/3/evaluate", found)
    out = podium("ensemble", "evaluate", "3")[1]
    assert words in out
    assert ("The quorum is" in out) == (safe == 2 and quorum == 1)


def test_given_rows_are_posted(podium: Podium, server: Server, tmp_path: Path) -> None:
    server.on("POST", f"{URL}/3/evaluate", measured(Task.CLASSIFICATION, split="posted"))
    np.save(tmp_path / "x.npy", np.eye(2))
    (tmp_path / "y.json").write_text("[0, 1]")
    arguments = ("--inputs", tmp_path / "x.npy", "--targets", tmp_path / "y.json")
    assert podium("ensemble", "evaluate", "3", *arguments)[0] == 0
    assert server.bodies(f"{URL}/3/evaluate") == [{"inputs": [[1.0, 0.0], [0.0, 1.0]], "targets": [0, 1]}]
    (tmp_path / "y.json").write_text('{"targets": ["cat", "dog"]}')
    assert podium("ensemble", "evaluate", "3", *arguments)[0] == 0
    assert server.bodies(f"{URL}/3/evaluate")[1]["targets"] == ["cat", "dog"]
    code, _, err = podium("ensemble", "evaluate", "3", "--inputs", tmp_path / "x.npy")
    assert (code, "must be given together" in err) == (2, True)
    code, _, err = podium("ensemble", "evaluate", "3", "--split", "test", *arguments)
    assert (code, "give either --split" in err) == (2, True)


def test_long_evaluation_is_waited_for(podium: Podium, server: Server) -> None:
    queued = measured(Task.CLASSIFICATION, state="queued", result=None)
    server.on("POST", f"{URL}/3/evaluate", queued, status=202)
    server.on("GET", f"{URL}/3/evaluations/5", queued, measured(Task.CLASSIFICATION))
    assert podium("ensemble", "evaluate", "3")[0] == 0
    failed = measured(Task.CLASSIFICATION, state="failed", result=None, reason="no such rows")
    server.on("GET", f"{URL}/3/evaluations/5", failed)
    assert podium("ensemble", "evaluate", "3") == (1, "", "no such rows\n")


# Predictions.


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[str], Path]:
    """A file with one row of four numbers, in the format of its name."""

    def write(name: str) -> Path:
        path = tmp_path / name
        if path.suffix == ".npy":
            np.save(path, np.arange(4.0).reshape(1, 4))
        else:
            path.write_text({"rows.json": "[[0, 1, 2, 3]]", "row.json": "[0, 1, 2, 3]"}[name])
        return path

    return write


@pytest.mark.parametrize("name", ["rows.npy", "rows.json", "row.json"])
def test_rows_are_read_from_a_file_and_a_late_member_is_named(
    podium: Podium, server: Server, rows: Callable[[str], Path], name: str
) -> None:
    server.on("POST", f"{URL}/3/predict", PREDICTED)
    code, out, err = podium("ensemble", "predict", "digits-1", "--input", rows(name), "--deadline-ms", "200")
    assert (code, err) == (0, "")
    (body,) = server.bodies(f"{URL}/3/predict")
    assert np.load(io.BytesIO(body)).tolist() == [[0, 1, 2, 3]]
    assert ["0", "dog", "0.7500", "0.5623", "0"] in [line.split() for line in out.splitlines()]
    assert "degraded: 1 of 2 members in 201.5 ms (deadline 200 ms, quorum 1, digits-1 version 1, between_graph)" in out
    assert "trial 7 of sweep 1: ok, 3.4 ms" in out
    assert "trial 8 of sweep 1: late" in out


def test_rows_are_read_from_standard_input(podium: Podium, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.on("POST", f"{URL}/3/predict", PREDICTED)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"inputs": [[1, 2, 3, 4]]}')))
    code, out, _ = podium("ensemble", "predict", "3", "--json")
    assert (code, json.loads(out)) == (0, PREDICTED)


def test_values_are_printed_with_their_standard_deviation(
    podium: Podium, server: Server, rows: Callable[[str], Path]
) -> None:
    spread = {"outputs": [[1.5]] * 60, "variance": [[0.25]] * 60}
    valued = {key: value for key, value in PREDICTED.items() if key not in ("labels", "entropy", "mutual_information")}
    server.on("POST", f"{URL}/3/predict", valued | spread)
    out = podium("ensemble", "predict", "3", "-i", rows("rows.json"))[1]
    assert ["0", "1.5", "0.5"] in [line.split() for line in out.splitlines()]
    assert "… and 10 more rows; use --json to see all" in out


NO_ROWS: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"nothing", "is neither .npy nor JSON rows of numbers"),
    "uneven": (b"[[1, 2], [3]]", "is neither .npy nor JSON rows of numbers"),
    "words": (b'[["a", "b"]]', "expected rows of numbers"),
    "no rows": (b'{"rows": [[1]]}', "expected rows of numbers"),
    "a truncated file": (b"\x93NUMPY\x01\x00", "is neither .npy nor JSON rows of numbers"),
    "not text": (b"\xff\xfe\x00", "is neither .npy nor JSON rows of numbers"),
}


@pytest.mark.parametrize(("content", "words"), NO_ROWS.values(), ids=NO_ROWS)
def test_invalid_rows_exit_2(podium: Podium, server: Server, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "rows").write_bytes(content)
    code, out, err = podium("ensemble", "predict", "3", "--input", tmp_path / "rows")
    assert (code, out) == (2, "")
    assert str(tmp_path / "rows") in err and words in err
    assert server.asked == []


def test_missing_file_exits_2(podium: Podium, server: Server, tmp_path: Path) -> None:
    code, _, err = podium("ensemble", "predict", "3", "--input", tmp_path / "rows")
    assert (code, err) == (2, f"{tmp_path / 'rows'}: No such file or directory\n")


def test_answer_below_the_quorum_exits_1_with_the_message_of_the_server(
    podium: Podium, server: Server, rows: Callable[[str], Path]
) -> None:
    server.on("POST", f"{URL}/3/predict", {"detail": "1 of 3 members answered, the quorum is 2"}, status=503)
    code, _, err = podium("ensemble", "predict", "3", "-i", rows("rows.npy"))
    assert (code, err) == (1, "1 of 3 members answered, the quorum is 2\n")


# Life cycle.


@pytest.mark.parametrize("what", ["start", "stop", "promote", "rollback"])
def test_life_cycle_commands_are_sent(podium: Podium, server: Server, what: str) -> None:
    server.on("POST", f"{URL}/3/{what}", ensemble("ready", target=2))
    code, out, err = podium("ensemble", what, "digits-1")
    assert (code, err) == (0, "")
    assert out == "ensemble 3 'digits-1': ready\nversion 2 becomes active when it is ready\n"
    assert json.loads(podium("ensemble", what, "3", "--json")[1])["target"] == 2
    assert server.bodies(f"{URL}/3/{what}") == [b"", b""]


def test_several_ensembles_are_retired_at_once(podium: Podium, server: Server) -> None:
    for number in (3, 4):
        server.on("POST", f"{URL}/{number}/retire", ensemble("ready", id=number, state="retired"))
    code, out, err = podium("ensemble", "retire", "digits-1", "4")
    assert (code, err) == (0, "")
    assert out == "ensemble 3 'digits-1': retired\nensemble 4 'digits-1': retired\n"
    assert [one["id"] for one in json.loads(podium("ensemble", "retire", "3", "4", "--json")[1])] == [3, 4]


def test_version_is_added_as_a_canary(podium: Podium, server: Server) -> None:
    server.on("POST", f"{URL}/3/versions", ensemble("ready", canary=2, canary_share=0.1), status=201)
    code, out, _ = podium("ensemble", "version", "add", "3", "1", "-k", "5", "--canary-share", "0.1")
    assert (code, "version 2 answers 10 %" in out) == (0, True)
    assert server.bodies(f"{URL}/3/versions") == [{"sweep_id": 1, "k": 5, "canary_share": 0.1}]
    code, _, err = podium("ensemble", "version", "add", "3", "1", "--canary-share", "1")
    assert (code, err) == (2, "--canary-share: input should be less than 1\n")


EVERY = [
    ("build", "1"), ("list",), ("show", "1"), ("evaluate", "1"), ("start", "1"), ("stop", "x"), ("retire", "1"),
    ("promote", "1"), ("rollback", "1"), ("version", "list", "1"), ("version", "add", "1", "1"),
]  # fmt: skip


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_command_exits_4_without_a_service(podium: Podium, tmp_path: Path, command: tuple[str, ...]) -> None:
    code, out, err = podium("ensemble", *command, "--data-dir", tmp_path / "data")
    assert (code, out) == (4, "")
    assert (
        err == f"no service runs on {tmp_path / 'data'}; start one with `podium serve --data-dir {tmp_path / 'data'}`\n"
    )


# A sweep with an `ensemble:` block.


@pytest.fixture
def file(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sweep file with a block; the service accepts it, and reports the sweep as finished."""
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(builtin_document(ensemble={"k": 2})))
    server.on("POST", "/api/v1/sweeps", _sweep(), status=201)
    server.on("GET", "/api/v1/sweeps/1/best", [])
    monkeypatch.setattr(service_for_command, "service", lambda *_: server.client())
    return path


def _sweep(**changes: Any) -> dict[str, Any]:
    return {
        "id": 1, "name": "small", "state": "finished", "reason": "run_cap", "wait_reason": None, "wait_message": "",
        "counts": {"finished": 4}, "best": None, "description": None, "project": "", "tags": [], "owner": "",
        "starred": False, "archived": False,
        "run_cap": 4, "spec": builtin_document(ensemble={"k": 2}), "ensembles": [], "ensemble_id": None,
        "ensemble_error": None, "budget": None, "warm_start": None, "warnings": [],
        "held": False, "predecessors": [], "successors": [], "fixed": None, "population": None,
        "provenance": {"git_commit": None, "git_dirty": None, "command": [], "packages_sha256": None},
        **changes,
    }  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True])
def test_run_waits_for_the_ensemble_of_its_block(podium: Podium, server: Server, file: Path, as_json: bool) -> None:
    server.on("GET", "/api/v1/sweeps/1", _sweep(), _sweep(ensembles=[2]), _sweep(ensembles=[2, 3], ensemble_id=3))
    server.on("GET", f"{URL}/3", ensemble("warming", "ready", state="building"), ensemble("ready", "ready"))
    code, out, err = podium("sweep", "run", file, *(["--json"] if as_json else []))
    assert (code, err) == (0, "")
    if as_json:
        assert json.loads(out)["ensemble"] == ensemble("ready", "ready")
        assert json.loads(out)["ensembles"] == [2, 3]
    else:
        assert "ensemble 3 'digits-1': ready" in out
        assert "cpu-0" in out


@pytest.mark.parametrize("as_json", [False, True])
def test_run_exits_1_with_the_reason_when_the_ensemble_cannot_be_built(
    podium: Podium, server: Server, file: Path, as_json: bool
) -> None:
    server.on("GET", "/api/v1/sweeps/1", _sweep(), _sweep(ensemble_error="k is 2, but only 1 trial"))
    code, out, err = podium("sweep", "run", file, *(["--json"] if as_json else []))
    assert (code, err) == (1, "")
    assert "k is 2, but only 1 trial" in out
    assert not as_json or json.loads(out)["ensemble"] is None


def test_failed_sweep_has_no_ensemble_to_wait_for(podium: Podium, server: Server, file: Path) -> None:
    server.on("GET", "/api/v1/sweeps/1", _sweep(state="failed"))
    assert podium("sweep", "run", file)[0] == 1


def test_build_that_does_not_start_is_an_error(server: Server) -> None:
    server.on("GET", "/api/v1/sweeps/1", _sweep())
    with pytest.raises(ServiceError, match="the build of sweep 1's ensemble did not start within 0 s"):
        ensemble_output.follow_block(server.client(), cast(Any, _sweep()), start_s=0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"ensembles": [3]}, "ensemble 3 'digits-1': ready"), ({"ensemble_error": "k is 2"}, "no ensemble: k is 2")],
)
def test_sweep_shows_its_ensemble(
    podium: Podium, server: Server, file: Path, changes: dict[str, Any], words: str
) -> None:
    server.on("GET", "/api/v1/sweeps/1", _sweep(**changes))
    code, out, _ = podium("sweep", "show", "1")
    assert (code, words in out) == (0, True)
