"""Ensembles in int8 of a real service: measured before they are ready, equal in both modes, and kept by restarts."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any

import numpy as np
import psutil
import pytest

from podium.api.client.ensemble_responses import EnsembleInfo
from podium.api.client.trial_responses import TrialInfo
from podium.ensemble.values.ensemble_spec import Precision
from podium.ensemble.values.precision_selection import choose, figures_from
from podium.sweep.values.errors import InvalidSpecError, PodiumError
from tests.precisions import skip_where_int8_is_slow
from tests.running_service import RunningService, podium, wait_for
from tests.specs import builtin_document

ROWS = np.linspace(0, 16, 5 * 64, dtype=np.float32).reshape(5, 64)
# A quarter of the bytes is a gain, unless int8 is more than twice as slow, as on a processor without instructions for
# it; then the members stay in float32. The loss is no matter here.
IN_INT8: dict[str, Any] = {"precision": "int8", "max_loss_increase": 10.0}


@pytest.fixture(scope="module")
def trials(service: RunningService) -> list[TrialInfo]:
    """Three finished trials with wide networks."""
    parameters = {
        "lr": {"min": 1e-3, "max": 3e-3, "log": True}, "epochs": {"value": 2}, "hidden": {"value": 1024},
        "layers": {"value": 2},
    }  # fmt: skip
    sweep = service.client.submit(builtin_document(run_cap=3, parameters=parameters))
    assert service.client.wait(sweep["id"], 120)["state"] == "finished"
    return list(service.client.trials(sweep["id"]))


def build(service: RunningService, trials: list[TrialInfo], **options: Any) -> EnsembleInfo:
    built = service.client.build_ensemble(trial_ids=[trial["id"] for trial in trials], deadline_ms=5000.0, **options)
    return service.client.wait_ensemble(built["id"], 120)


@pytest.fixture(scope="module")
def between(service: RunningService, trials: list[TrialInfo]) -> EnsembleInfo:
    return build(service, trials, name="between-int8", **IN_INT8)


def outputs(service: RunningService, ensemble: int) -> tuple[np.ndarray, np.ndarray]:
    answer = service.client.predict(ensemble, ROWS, whole=True)
    assert answer["answered"] == 3
    return np.asarray(answer["outputs"], np.float32), np.asarray(answer["member_outputs"], np.float32)


def used(ensemble: EnsembleInfo) -> list[str | None]:
    """The precision of each member."""
    return [member["precision"]["used"] for member in ensemble["members"]]


def test_members_are_measured_and_served_as_the_figures_say(service: RunningService, between: EnsembleInfo) -> None:
    for member in between["members"]:
        precision = member["precision"]
        assert (precision["requested"], precision["rows"]) == ("int8", 180)
        base, other = (figures_from(dict(figures)) for figures in precision["figures"])
        assert (base.precision, other.precision) == (Precision.FLOAT32, Precision.INT8)
        assert (precision["used"], precision["reason"]) == choose(base, other, IN_INT8["max_loss_increase"])
        assert precision["used"] == "int8" or max(other.p50_us) > max(base.p50_us), "float32 is not slower"
        assert "0.25 × the bytes" in precision["reason"]
        assert other.weights_bytes < 0.28 * base.weights_bytes
    assert (between["precision"], between["max_loss_increase"]) == ("int8", 10.0)
    shown = podium("ensemble", "show", str(between["id"]), "--data-dir", str(service.data.root))
    assert "on calibration rows" in shown.stdout and "int8" in shown.stdout, shown.stderr


@pytest.mark.slow
def test_both_modes_give_the_same_bits(service: RunningService, trials: list[TrialInfo], between: EnsembleInfo) -> None:
    together = build(service, trials, name="in-graph-int8", mode="in_graph", **IN_INT8)
    skip_where_int8_is_slow(together, between)
    expected, members = outputs(service, between["id"])
    for found, own in (outputs(service, together["id"]) for _ in range(2)):
        np.testing.assert_array_equal(own, members)
        np.testing.assert_array_equal(found, expected)

    def plan() -> dict[str, Any]:
        return service.client.ensemble(together["id"])["plan"]

    wait_for("the plans are chosen", lambda: plan()["state"] == "chosen", 120)
    assert {group["precision"] for group in plan()["groups"]} == {"int8"}
    assert {size["plan"] for group in plan()["groups"] for size in group["sizes"]} <= {"loop", "recorded_loop"}
    found, own = outputs(service, together["id"])
    np.testing.assert_array_equal(own, members)
    np.testing.assert_array_equal(found, expected)
    service.client.retire_ensemble(together["id"])


def test_a_restart_keeps_the_precision(service: RunningService, between: EnsembleInfo) -> None:
    before = outputs(service, between["id"])
    member = service.client.ensemble(between["id"])["members"][0]
    pid = member["replicas"][0]["pid"]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    def restarted() -> bool:
        (replica,) = service.client.ensemble(between["id"])["members"][0]["replicas"]
        return replica["state"] == "ready" and replica["pid"] not in (None, pid)

    wait_for("the member is back", restarted)
    wait_for("it answers", lambda: service.client.predict(between["id"], ROWS)["answered"] == 3)
    for was, found in zip(before, outputs(service, between["id"]), strict=True):
        np.testing.assert_array_equal(found, was)
    assert service.client.ensemble(between["id"])["members"][0]["precision"] == member["precision"]


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["measurement", "host"])
def test_a_kill_while_precisions_are_measured_loses_nothing(
    service: RunningService, trials: list[TrialInfo], victim: str
) -> None:
    ids = [trial["id"] for trial in trials]
    host = service.pid("host")
    built = service.client.build_ensemble(trial_ids=ids, name=f"killed-{victim}", **IN_INT8)
    measuring = wait_for("a precision is measured", lambda: processes(service, "podium-measure"))
    os.kill(measuring[0].pid if victim == "measurement" else host, signal.SIGKILL)
    found = service.client.wait_ensemble(built["id"], 120)
    assert all(member["precision"]["figures"] for member in found["members"])
    wait_for("no measurement is left", lambda: not processes(service, "podium-measure"))
    service.client.retire_ensemble(built["id"])


def processes(service: RunningService, name: str) -> list[psutil.Process]:
    """The processes of the service with this name."""
    found = []
    for process in psutil.Process(service.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name() == name:
                found.append(process)
    return found


@pytest.mark.slow
def test_evaluation_shows_precisions_side_by_side(service: RunningService, between: EnsembleInfo) -> None:
    result = service.client.evaluate(between["id"])["result"]
    assert result is not None
    assert [one["position"] for one in result["precisions"]] == [0, 1, 2]
    for one, scores in zip(result["precisions"], result["members"], strict=True):
        base, other = one["figures"]
        assert (one["served"], one["problem"]) == (used(between)[one["position"]], "")
        assert (base["precision"], other["precision"]) == ("float32", "int8")
        served = other if one["served"] == "int8" else base
        assert served["accuracy"] == pytest.approx(scores["accuracy"]), "what is served is what was measured"
        assert served["loss"] == pytest.approx(scores["log_loss"], rel=1e-5)
    printed = podium("ensemble", "evaluate", str(between["id"]), "--data-dir", str(service.data.root))
    assert "precisions, on the same rows" in printed.stdout and "(served)" in printed.stdout, printed.stderr


@pytest.mark.slow
def test_members_have_precisions_of_their_own_and_versions_theirs(
    service: RunningService, trials: list[TrialInfo], between: EnsembleInfo
) -> None:
    skip_where_int8_is_slow(between)
    ids = [trial["id"] for trial in trials]
    precisions = ["int8", "float32", "float32"]
    service.client.add_version(
        between["id"], trial_ids=ids, deadline_ms=5000.0, precision=precisions, max_loss_increase=10
    )
    wait_for("version 2 is active", lambda: service.client.ensemble(between["id"])["version"] == 2)
    found = service.client.ensemble(between["id"])
    assert [member["precision"]["used"] for member in found["members"]] == precisions
    assert found["precision"] == "mixed"
    service.client.roll_back(between["id"])
    wait_for("version 1 is active again", lambda: service.client.ensemble(between["id"])["version"] == 1)
    assert {member["precision"]["used"] for member in service.client.ensemble(between["id"])["members"]} == {"int8"}


@pytest.mark.slow
def test_member_whose_loss_may_not_rise_stays_in_float32_and_says_so(
    service: RunningService, trials: list[TrialInfo]
) -> None:
    found = build(service, trials, name="strict", precision="bfloat16", max_loss_increase=0.0)
    for member in found["members"]:
        base, other = member["precision"]["figures"]
        assert base["loss"] is not None and other["loss"] is not None
        used, reason = member["precision"]["used"], member["precision"]["reason"]
        assert reason.startswith(f"{used}: ")
        if other["loss"] > base["loss"]:
            assert used == "float32" and "in bfloat16 its loss rises by" in reason
    service.client.retire_ensemble(found["id"])


@pytest.mark.slow
def test_float16_is_refused_without_a_gpu(service: RunningService, trials: list[TrialInfo]) -> None:
    if any(device["kind"] == "gpu" for device in service.client.devices()):
        pytest.skip("float16 is for GPUs")
    words = "on CPUs it is 6 to 56 times slower than float32; use bfloat16 or int8"
    with pytest.raises(PodiumError, match=words):
        service.client.build_ensemble(trial_ids=[trials[0]["id"]], precision="float16")
    with pytest.raises(InvalidSpecError, match=words):
        service.client.submit(builtin_document(ensemble={"k": 2, "precision": "float16"}))
