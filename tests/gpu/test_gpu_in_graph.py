"""In-graph execution on a real GPU gives the results of the CPU. Skipped without a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from podium.ensemble.values.ensemble_spec import Precision
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.network_loading import load
from tests.networks import ROWS, combination, network, saved, traced_network
from tests.networks import placed as on_cpu

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]

KINDS = ("mlp", "mlp", "cnn", "mlp", "cnn")


def _loaded(folder: Path, precision: Precision) -> InGraphNetwork:
    files = [replace(saved(folder, seed, kind), precision=precision.value) for seed, kind in enumerate(KINDS)]
    ensemble = load(files, in_graph=True, combination=combination([1.0] * len(KINDS)))
    assert isinstance(ensemble, InGraphNetwork)
    return ensemble


@pytest.mark.parametrize(
    ("precision", "tolerance"),
    [(Precision.FLOAT32, 1e-4), (Precision.BFLOAT16, 0.05), (Precision.FLOAT16, 0.01), (Precision.INT8, 0.05)],
    ids=lambda value: value.value if isinstance(value, Precision) else None,
)
def test_gpu_predictions_match_cpu(tmp_path: Path, precision: Precision, tolerance: float) -> None:
    expected = traced_network([on_cpu(network(seed, kind)) for seed, kind in enumerate(KINDS)]).predict(ROWS)
    ensemble = _loaded(tmp_path, precision)
    for _ in range(2):  # as loaded, and after plan selection
        found = ensemble.predict(ROWS)
        np.testing.assert_allclose(found.predictions, expected.predictions, atol=tolerance)
        assert found.combined is not None and expected.combined is not None
        np.testing.assert_allclose(found.combined, expected.combined, atol=tolerance)
        ensemble.warm(64, budget_s=5.0)
    assert {group["device"] for group in ensemble.plan()["groups"]} == {"cuda:0"}


def test_two_gpus_share_the_members(tmp_path: Path) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    files = [saved(tmp_path, seed) for seed in range(4)]
    spread = [type(file)(file.path, file.sha256, position % 2) for position, file in enumerate(files)]
    ensemble = load(spread, in_graph=True, combination=combination([1.0] * 4))
    expected = traced_network([on_cpu(network(seed)) for seed in range(4)]).predict(ROWS)
    np.testing.assert_allclose(ensemble.predict(ROWS).predictions, expected.predictions, atol=1e-4)
