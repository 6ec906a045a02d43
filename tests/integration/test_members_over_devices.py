"""Members over two devices of a real service: the same predictions as on one, and refusals by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.api.client.ensemble_responses import EnsembleInfo
from podium.sweep.values.errors import PodiumError
from tests.precisions import skip_where_int8_is_slow
from tests.running_service import RunningService, podium
from tests.specs import builtin_document

# Wide and deep: 256 rows take about a quarter of the time in int8, so a busy machine does not change the decision.
PARAMETERS = {"epochs": {"value": 1}, "hidden": {"value": 1024}, "layers": {"value": 2}}
ROWS = np.linspace(0, 16, 5 * 64, dtype=np.float32).reshape(5, 64)


@pytest.fixture(scope="module")
def trial_ids(service: RunningService) -> list[int]:
    """Two finished trials."""
    sweep = service.client.submit(builtin_document(run_cap=2, parameters=PARAMETERS))
    assert service.client.wait(sweep["id"], 120)["state"] == "finished"
    return [trial["id"] for trial in service.client.trials(sweep["id"])]


def build(service: RunningService, trial_ids: list[int], **options: Any) -> EnsembleInfo:
    built = service.client.build_ensemble(trial_ids=trial_ids, deadline_ms=5000.0, **options)
    return service.client.wait_ensemble(built["id"], 60)


@pytest.mark.parametrize("precision", ["float32", pytest.param("int8", marks=pytest.mark.slow)])
def test_two_devices_give_the_predictions_of_one(
    request: pytest.FixtureRequest, service: RunningService, trial_ids: list[int], precision: str
) -> None:
    options = {"precision": precision, "max_loss_increase": 10.0}
    one = build(service, trial_ids, name=f"one-{precision}", **options)
    two = build(service, trial_ids, name=f"two-{precision}", devices=2, **options)
    assert (one["devices"], two["devices"]) == (1, 2)
    request.addfinalizer(lambda: [service.client.retire_ensemble(each["id"]) for each in (one, two)])
    if precision == "int8":
        skip_where_int8_is_slow(one, two)
    used = [member["precision"]["used"] for each in (one, two) for member in each["members"]]
    assert used == [precision] * 4
    for member in two["members"]:
        (replica,) = member["replicas"]
        assert sorted(replica["device_ids"]) == ["cpu-0", "cpu-1"]
        assert replica["device_id"] == replica["device_ids"][0]
    expected, found = (service.client.predict(each["id"], ROWS, whole=True)["outputs"] for each in (one, two))
    np.testing.assert_array_equal(found, expected)
    shown = podium("ensemble", "show", str(two["id"]), "--data-dir", str(service.data.root))
    assert "2 for each member" in shown.stdout and "cpu-0, cpu-1" in shown.stdout, shown.stdout


def test_in_graph_is_refused(service: RunningService, trial_ids: list[int]) -> None:
    with pytest.raises(PodiumError, match="between_graph only"):
        service.client.build_ensemble(trial_ids=trial_ids, devices=2, mode="in_graph")


def test_more_devices_than_exist_are_waited_for_with_a_reason(service: RunningService, trial_ids: list[int]) -> None:
    built = service.client.build_ensemble(trial_ids=trial_ids, devices=50, name="too-many")
    with pytest.raises(PodiumError, match="no machine has 50 devices of one kind that are ready"):
        service.client.wait_ensemble(built["id"], 5)
    service.client.retire_ensemble(built["id"])
