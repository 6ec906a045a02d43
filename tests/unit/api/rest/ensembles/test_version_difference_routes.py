"""The difference of two versions over REST, from the outputs of their evaluations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from podium.sweep.data import memory_mapped_datasets
from tests.service_rig import ARCHITECTURE, ServiceRig, assert_problem


@pytest.fixture
def ensemble_id(service: ServiceRig) -> int:
    sweep_id = service.sweep()
    return service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.5)], features=64)


@pytest.fixture
def targets(service: ServiceRig) -> Any:
    data: dict[str, Any] = ARCHITECTURE
    return memory_mapped_datasets.load(data["data"], data["split"], service.settings.data.data_cache).split("test")[1]


def evaluated(service: ServiceRig, ensemble_id: int, labels: Any) -> int:
    """A finished evaluation whose outputs are certain of these classes."""
    evaluation_id = service.evaluation(ensemble_id)
    path = service.settings.data.probabilities(evaluation_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.eye(10, dtype=np.float32)[labels] * 0.9 + 0.01)
    service.finish_evaluation(evaluation_id, {"any": "result"})
    return evaluation_id


def difference(client: TestClient, ensemble_id: int, first: int, second: int) -> Any:
    return client.get(f"/api/v1/ensembles/{ensemble_id}/version-difference", params={"first": first, "second": second})


def test_the_second_is_compared_with_the_first(
    service: ServiceRig, client: TestClient, ensemble_id: int, targets: Any
) -> None:
    worse = np.where(np.arange(len(targets)) % 4 == 0, (targets + 1) % 10, targets)
    pair = (evaluated(service, ensemble_id, worse), evaluated(service, ensemble_id, targets))
    found = difference(client, ensemble_id, *pair).json()
    accuracy, loss = found["metrics"]
    assert accuracy["difference"] == pytest.approx(0.25, abs=0.01)
    assert accuracy["ci95"][0] < 0.25 < accuracy["ci95"][1]
    assert accuracy["distinguishable"] and loss["difference"] < 0
    assert (found["split"], found["rows"], found["mcnemar"]["only_best_right"]) == ("test", len(targets), 0)


def test_what_cannot_be_compared_is_refused(
    service: ServiceRig, client: TestClient, ensemble_id: int, targets: Any
) -> None:
    one = evaluated(service, ensemble_id, targets)
    assert_problem(difference(client, ensemble_id, one, 99), 404, "99")
    waiting = service.evaluation(ensemble_id)
    assert_problem(difference(client, ensemble_id, one, waiting), 409, "queued")
    short = evaluated(service, ensemble_id, targets[:-1])
    assert_problem(difference(client, ensemble_id, one, short), 409, "rows")
    service.settings.data.probabilities(one).unlink()
    assert_problem(difference(client, ensemble_id, one, one), 409, "evaluate again")
