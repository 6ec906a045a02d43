"""Ensemble previews and example rows over REST, with the digits and networks of known accuracy."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fastapi import HTTPException
from numpy.typing import NDArray
from safetensors.numpy import save_file
from starlette.testclient import TestClient

from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.ensemble_preview_routes import MAX_QUEUED, PreviewQueue
from podium.api.rest.ensembles.sample_row_routes import samples_of
from podium.api.use_cases.ensemble_building import preview_ensemble
from podium.db.stores.member_candidates import PREDICTIONS
from podium.ensemble.building.saved_trial_outputs import Architecture
from podium.ensemble.values.ensemble_spec import EnsembleRequest, Select, Split, Task
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.lifecycle.database_changes import ArtifactSaved
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Saved
from tests.service_rig import ARCHITECTURE, ServiceRig, assert_problem

URL = "/api/v1/ensembles/preview"
CLASSES = [str(digit) for digit in range(10)]
DIGITS = {**ARCHITECTURE, "labels": CLASSES, "image": [1, 8, 8]}
SPLITS = (Split.VALIDATION, Split.CALIBRATION)


@pytest.fixture
def digits(service: ServiceRig) -> Dataset:
    return memory_mapped_datasets.load({"name": "digits"}, ARCHITECTURE["split"], service.data.data_cache)


def answers(targets: NDArray[Any], right: float, seed: int) -> NDArray[np.float32]:
    """Outputs of a confident network that is right in this share of the rows."""
    chance = np.random.default_rng(seed)
    said = np.where(chance.random(len(targets)) < right, targets, (targets + chance.integers(1, 10)) % 10)
    return (0.1 / 9 + (0.9 - 0.1 / 9) * np.eye(10)[said]).astype(np.float32)


def trained(service: ServiceRig, digits: Dataset, sweep_id: int, *shares: float, first: int = 0) -> list[int]:
    """Finished trials of these accuracies, with their models and outputs."""
    found = []
    for number, share in enumerate(shares, first):
        found.append(service.trial(sweep_id, number, share, architecture=DIGITS))
        said = {split.value: answers(digits.targets_of(split.value), share, number) for split in SPLITS}
        save_file(said, service.attempt(sweep_id, number).predictions)
        service.commit(ArtifactSaved(Saved(AttemptKey(found[-1], 1), PREDICTIONS, "0" * 64, 1000)))
    return found


def previewed(client: TestClient, **body: Any) -> dict[str, Any]:
    answer = client.post(URL, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_best_trials_are_shown_with_the_effect_of_more(
    service: ServiceRig, client: TestClient, digits: Dataset
) -> None:
    sweep_id = service.sweep()
    trial_ids = trained(service, digits, sweep_id, 0.6, 0.8, 0.7, 0.75)
    found = previewed(client, sweep_id=sweep_id, k=2)
    best = [trial_ids[number] for number in (1, 3, 2, 0)]
    assert found["member_ids"] == best[:2] and found["weights"] == [0.5, 0.5]
    assert [one["trial_id"] for one in found["contenders"]] == best
    assert [one["weight"] for one in found["contenders"]] == [0.5, 0.5, 0, 0]
    accuracy = [one["scores"]["accuracy"] for one in found["contenders"]]
    assert accuracy == sorted(accuracy, reverse=True)
    assert [(step["trial_id"], step["members"], step["inside"]) for step in found["path"]] == [
        (best[0], 1, True), (best[1], 2, True), (best[2], 3, False), (best[3], 4, False),
    ]  # fmt: skip
    assert found["path"][0]["validation"] == pytest.approx(found["contenders"][0]["scores"])
    assert found["path"][3]["calibration"]["log_loss"] < found["path"][0]["calibration"]["log_loss"]
    figures = found["figures"]
    assert (figures["split"], figures["flags"], figures["rows"]) == ("calibration", [], found["rows_there"])
    assert np.shape(figures["disagreement"]) == (2, 2)
    assert figures["reliability"] and figures["best_reliability"]
    assert client.get("/api/v1/ensembles").json()["items"] == []


def test_greedy_shows_each_choice_and_its_score(service: ServiceRig, client: TestClient, digits: Dataset) -> None:
    sweep_id = service.sweep()
    trained(service, digits, sweep_id, 0.6, 0.8, 0.7, 0.75)
    found = previewed(client, sweep_id=sweep_id, k=3, select="greedy", calibrate=True)
    losses = [step["validation"]["log_loss"] for step in found["path"]]
    assert losses[-1] == min(losses)
    assert {step["trial_id"] for step in found["path"]} == set(found["member_ids"])
    assert found["temperature"] != 1
    assert "fitted on this split" in found["figures"]["flags"][0]


def test_diverse_bagged_and_named_selection(service: ServiceRig, client: TestClient, digits: Dataset) -> None:
    sweep_id = service.sweep()
    trial_ids = trained(service, digits, sweep_id, 0.6, 0.8, 0.7, 0.75)
    diverse = previewed(client, sweep_id=sweep_id, k=2, select="diverse")
    assert [step["inside"] for step in diverse["path"]] == [True, True, False, False]
    bagged = previewed(client, sweep_id=sweep_id, k=2, select="greedy", bags=3)
    assert [step["trial_id"] for step in bagged["path"]] == bagged["member_ids"]
    named = previewed(client, trial_ids=trial_ids[:2], weights=[3, 1])
    assert (named["member_ids"], named["weights"]) == (trial_ids[:2], [0.75, 0.25])
    assert [one["trial_id"] for one in named["contenders"]] == trial_ids[:2]


def test_sample_of_many_rows_is_used(service: ServiceRig, digits: Dataset) -> None:
    sweep_id = service.sweep()
    trained(service, digits, sweep_id, 0.6, 0.8)
    request = EnsembleRequest(sweep_id=sweep_id, k=2, select=Select.DIVERSE)
    found = preview_ensemble(ServiceContext(service.settings, service.database), request, max_rows=50)
    assert found.evaluation is not None
    assert (found.evaluation.rows, found.rows_there) == (50, len(digits.rows["calibration"]))


def test_candidates_without_predictions_have_a_reason(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    for number in range(2):
        service.trial(sweep_id, number, 0.5)
    found = previewed(client, sweep_id=sweep_id, k=2)
    assert (found["figures"], found["path"], found["rows_there"]) == (None, [], 0)
    assert "saved no predictions" in found["unknown"]
    assert [one["scores"] for one in found["contenders"]] == [None, None]


def test_nonfinite_predictions_have_no_scores(service: ServiceRig, client: TestClient, digits: Dataset) -> None:
    sweep_id = service.sweep()
    trained(service, digits, sweep_id, 0.6, 0.8)
    file = service.attempt(sweep_id, 0).predictions
    save_file({s.value: np.full((len(digits.rows[s.value]), 10), np.nan, np.float32) for s in SPLITS}, file)
    found = previewed(client, sweep_id=sweep_id, k=1)
    assert [one["scores"] is None for one in found["contenders"]] == [False, True]
    assert found["path"] == [] and found["figures"] is not None


def test_preview_is_refused_for_the_same_reason_as_a_build(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5)
    for body in ({"k": 3}, {"k": 1, "select": "greedy"}, {"k": 1, "combine": "stacking"}, {"k": 1, "unknown": 1}):
        asked = {"sweep_id": sweep_id, **body}
        built = client.post("/api/v1/ensembles", json=asked)
        assert_problem(client.post(URL, json=asked), 422, built.json()["detail"])
    assert_problem(client.post(URL, json={"sweep_id": 99}), 404, "no sweep 99")


def test_previews_run_one_at_a_time_and_a_cancelled_one_is_not_started() -> None:
    async def scene() -> list[str]:
        turns, gate, begun = PreviewQueue(), threading.Event(), list[str]()
        first = asyncio.create_task(turns.run(gate.wait))
        waiting = [asyncio.create_task(turns.run(lambda: begun.append("left"))) for _ in range(MAX_QUEUED)]
        await asyncio.sleep(0)
        with pytest.raises(HTTPException, match="16 previews are queued"):
            await turns.run(lambda: begun.append("too many"))
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        last = asyncio.create_task(turns.run(lambda: begun.append("last")))
        gate.set()
        await asyncio.gather(first, last)
        return begun

    assert asyncio.run(scene()) == ["last"]


def test_example_rows_are_from_the_test_split(service: ServiceRig, client: TestClient, digits: Dataset) -> None:
    sweep_id = service.sweep()
    ensemble_id = service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.5, architecture=DIGITS)])
    inputs, targets = digits.split("test")
    found = client.get(f"/api/v1/ensembles/{ensemble_id}/samples?n=3&start=2").json()
    assert found["inputs"] == inputs[2:5].tolist()
    assert found["labels"] == [CLASSES[number] for number in targets[2:5]]
    assert (found["there"], found["start"], found["targets"]) == (len(inputs), 2, None)
    assert found["image"] == {"channels": 1, "height": 8, "width": 8}
    assert (found["low"], found["high"]) == (0, 16)
    again = client.get(f"/api/v1/ensembles/{ensemble_id}/samples?n=3&start={len(inputs) + 2}").json()
    assert again == found


def test_unavailable_rows_are_refused(service: ServiceRig, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep_id = service.sweep()
    ensemble_id = service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.5)])
    own = Architecture(Task.CLASSIFICATION, ("cat", "dog"), 3, None, {})
    monkeypatch.setattr("podium.ensemble.building.saved_trial_outputs.read_architecture", lambda _: own)
    assert_problem(client.get(f"/api/v1/ensembles/{ensemble_id}/samples"), 409, "their own data", "paste a row")
    assert_problem(client.get(f"/api/v1/ensembles/{ensemble_id}/samples?n=0"), 422, "n")
    assert_problem(client.get("/api/v1/ensembles/99/samples"), 404, "no ensemble 99")


def test_rows_of_a_table_have_its_numbers(digits: Dataset) -> None:
    table = replace(
        digits,
        inputs=np.full((len(digits.inputs), 2), 0.1, np.float32),
        targets=np.full((len(digits.inputs), 1), 2.7, np.float32),
        image=(1, 1, 2),
        columns=("age", "size"),
    )
    found = samples_of(table, Task.REGRESSION, Split.TEST, start=0, n=2)
    assert (found.inputs, found.targets, found.labels) == ([[0.1, 0.1]] * 2, [[2.7]] * 2, None)
    assert (found.image, found.columns, found.low, found.high) == (None, ["age", "size"], 0.1, 0.1)
