"""Drift over REST: against the training rows of digits, and sentences when nothing can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.testclient import TestClient

from podium.ensemble.serving.input_feature_statistics import Moments, to_json
from podium.sweep.data import memory_mapped_datasets
from tests.service_rig import ARCHITECTURE, ServiceRig, assert_problem


def ensemble(service: ServiceRig, features: int = 64) -> int:
    sweep_id = service.sweep()
    return service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.5)], features=features)


def save(service: ServiceRig, ensemble_id: int, rows: NDArray[np.float64]) -> None:
    service.settings.data.recent_inputs("gateway").write_bytes(to_json({ensemble_id: Moments.of(rows)}))


def test_rows_like_those_of_training_do_not_drift_and_shifted_ones_do(service: ServiceRig, client: TestClient) -> None:
    ensemble_id = ensemble(service)
    cache = service.settings.data.data_cache
    data: dict[str, Any] = ARCHITECTURE
    test, _ = memory_mapped_datasets.load(data["data"], data["split"], cache).split("test")
    rows = np.repeat(np.asarray(test, np.float64), 2, axis=0)
    save(service, ensemble_id, rows)
    same = client.get(f"/api/v1/ensembles/{ensemble_id}/drift").json()
    assert (same["problem"], same["notable"], same["rows"], len(same["features"])) == ("", 0, len(rows), 10)
    rows[:, 20] += 100
    save(service, ensemble_id, rows)
    shifted = client.get(f"/api/v1/ensembles/{ensemble_id}/drift", params={"most": 1}).json()
    assert shifted["notable"] == 1
    (worst,) = shifted["features"]
    assert worst["feature"] == 20 and worst["difference"] > 10
    assert worst["recent_mean"] > worst["train_mean"] + 90


def test_why_nothing_is_compared_is_said(service: ServiceRig, client: TestClient) -> None:
    ensemble_id = ensemble(service)
    path = f"/api/v1/ensembles/{ensemble_id}/drift"
    assert client.get(path).json()["problem"] == "0 of at least 200 rows have been sampled in the last hour"
    save(service, ensemble_id, np.ones((150, 64)))
    assert client.get(path).json()["problem"].startswith("150 of at least 200 rows")
    save(service, ensemble_id, np.ones((300, 3)))
    assert client.get(path).json()["problem"] == "requests had 3 features, the training rows have 64"
    assert_problem(client.get("/api/v1/ensembles/99/drift"), 404, "99")
    wide = ensemble(service, features=5_000)
    assert "more than 4,096 features" in client.get(f"/api/v1/ensembles/{wide}/drift").json()["problem"]
