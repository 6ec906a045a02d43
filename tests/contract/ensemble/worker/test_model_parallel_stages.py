"""A network split into stages computes what it computed before, bit for bit; what cannot be split is refused."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from podium.ensemble.worker import model_parallel_stages
from podium.ensemble.worker.model_parallel_stages import Stages
from podium.ensemble.worker.network_loading import load
from podium.sweep.values.errors import EnsembleError
from tests.networks import CPU, ROWS, combination, network, saved


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_stages_equal_the_network(kind: str, count: int) -> None:
    whole = network(0, kind)
    split = model_parallel_stages.place(copy.deepcopy(whole), [CPU] * count)
    assert isinstance(split, Stages) and len(split.stages) == count
    rows = torch.from_numpy(ROWS)
    with torch.inference_mode():
        assert torch.equal(split(rows), whole(rows))
    kept = sum(parameter.numel() for parameter in split.parameters())
    assert kept == sum(parameter.numel() for parameter in whole.parameters())


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_loaded_member_with_stages_equals_one_without(tmp_path: Path, precision: str) -> None:
    file = replace(saved(tmp_path, 0), precision=precision)
    one, split = (
        load([each], in_graph=False, combination=combination([1.0])).predict(ROWS).predictions
        for each in (file, replace(file, stages=(0, 0)))
    )
    np.testing.assert_array_equal(split, one)


def test_stages_are_as_equal_in_bytes_as_layers_allow() -> None:
    layers = [nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)]
    split = model_parallel_stages.place(nn.Sequential(*layers), [CPU, CPU])
    assert isinstance(split, Stages)
    assert [len(list(stage.children())) for stage in split.stages] in ([2, 3], [3, 2])


def test_rows_move_to_the_device_of_each_stage() -> None:
    seen: list[torch.device] = []

    class Recording(nn.Module):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            seen.append(rows.device)
            return rows

    meta = torch.device("meta")
    split = model_parallel_stages.place(nn.Sequential(Recording(), Recording()), [CPU, meta])
    assert split(torch.zeros(2, 3)).device == meta
    assert seen == [CPU, meta]


def test_network_that_is_no_sequence_is_refused() -> None:
    class Own(nn.Module):
        pass

    with pytest.raises(EnsembleError, match=r"is a Own, and only an nn\.Sequential can span 2 devices"):
        model_parallel_stages.place(Own(), [CPU, CPU])


def test_network_with_too_few_layers_is_refused() -> None:
    with pytest.raises(EnsembleError, match="has 2 layers, and cannot span 3 devices"):
        model_parallel_stages.place(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), [CPU] * 3)


def test_layer_in_several_stages_is_refused() -> None:
    shared = nn.Linear(2, 2)
    with pytest.raises(EnsembleError, match="used in several stages"):
        model_parallel_stages.place(nn.Sequential(shared, nn.ReLU(), shared), [CPU] * 2)
