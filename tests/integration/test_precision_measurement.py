"""The measurement of precisions: real networks and rows, latencies by a fake clock, and what is refused."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import nn

from podium.ensemble.values.ensemble_spec import Precision, Task
from podium.ensemble.values.precision_selection import choose
from podium.ensemble.worker import int8_linear, precision_measurement_process
from podium.ensemble.worker.architecture_groups import PlacedNetwork
from podium.ensemble.worker.direct_layer_calls import DirectSequence
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import ServingModule, SingleNetwork
from podium.ensemble.worker.neural_network_interface import NetworkOutputs
from podium.ensemble.worker.precision_measurement_messages import MeasurementRequest
from podium.ensemble.worker.precision_measurement_process import load_one_member, measure
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.networks import models, weight_files
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from tests.fakes import FakeClock
from tests.networks import CPU

FLOAT32, BFLOAT16, INT8 = Precision.FLOAT32, Precision.BFLOAT16, Precision.INT8
DATA = {"name": "digits"}
SPLIT = {"split": [0.5, 0.2, 0.1, 0.2], "seed": 0}
M_MMAP_THRESHOLD = -3  # of mallopt(3): larger blocks get pages of their own


def trained(folder: Path, layers: Callable[[], nn.Sequential] | None = None, *, hidden: int = 64) -> ModelFile:
    """A network that has learned digits, as the fit loop saves it, in a data directory."""
    data = memory_mapped_datasets.load(DATA, SPLIT, DataDirectory(folder).data_cache)
    settings = {"hidden": hidden, "layers": 2, "dropout": 0.0, "activation": "relu"}
    architecture = {
        "model": "mlp", "settings": settings, "image": list(data.image), "classes": 10, "mean": data.mean,
        "deviation": data.std, "labels": [str(n) for n in range(10)], "data": DATA, "split": SPLIT,
    }  # fmt: skip
    torch.manual_seed(0)
    model = models.build(architecture)
    inputs, targets = data.split("train")
    rows, classes = torch.from_numpy(np.asarray(inputs, np.float32)), torch.from_numpy(np.asarray(targets))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(rows), classes).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    path = folder / "model.safetensors"
    weight_files.save_weights(model.eval(), path, {"architecture": json.dumps(architecture)})
    return ModelFile(str(path), sha256_of(path), 0, str(folder))


def request(file: ModelFile, *precisions: Precision, **about: object) -> MeasurementRequest:
    values = {"split": "calibration", **about}
    return MeasurementRequest(file, precisions or (FLOAT32, INT8), threads=1, **values)  # type: ignore[arg-type]


def test_trained_network_is_as_good_in_int8_with_a_quarter_of_the_bytes(tmp_path: Path) -> None:
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 128 << 10)  # glibc raises it when the process frees larger blocks
    file = trained(tmp_path, hidden=512)  # its largest matrix has pages of its own
    found = measure(request(file))
    base, other = found.figures
    assert (base.precision, other.precision, found.device, found.problem) == (FLOAT32, INT8, "cpu", "")
    assert found.rows == 180
    assert base.loss is not None and other.loss is not None and base.accuracy is not None and other.accuracy is not None
    assert base.accuracy > 0.9 and abs(other.accuracy - base.accuracy) < 0.02
    assert abs(other.loss - base.loss) < 0.1 * base.loss
    assert other.weights_bytes < 0.27 * base.weights_bytes
    assert base.weights_bytes == 4 * (64 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10) + 2 * 4
    assert base.process_bytes is not None and base.process_bytes >= 0.8 * base.weights_bytes
    assert all(len(one.p50_us) == 2 and min(one.p50_us) > 0 for one in found.figures)


@pytest.mark.slow
def test_only_the_requested_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = trained(tmp_path)
    read: list[NDArray[np.float32]] = []
    predict = SingleNetwork.predict

    def recording(network: SingleNetwork, inputs: NDArray[np.float32]) -> NetworkOutputs:
        read.append(inputs)
        return predict(network, inputs)

    monkeypatch.setattr(SingleNetwork, "predict", recording)
    measure(request(file))
    data = memory_mapped_datasets.load(DATA, SPLIT, DataDirectory(tmp_path).data_cache)
    rows = {split: {row.tobytes() for row in np.asarray(data.split(split)[0], np.float32)} for split in data.rows}
    seen = {row.tobytes() for inputs in read for row in inputs}
    assert seen <= rows["calibration"]
    assert not seen & (rows["test"] - rows["calibration"])


@pytest.mark.slow
def test_networks_call_their_layers_as_members_do(tmp_path: Path) -> None:
    made: list[SingleNetwork] = []

    def load_network(file: ModelFile) -> SingleNetwork:
        made.append(load_one_member(file))
        return made[-1]

    measure(request(trained(tmp_path)), load_network=load_network)
    timed = made[1::2]  # the first of each precision only allocates what libraries need once
    assert timed and all(isinstance(one.placed.module.model, DirectSequence) for one in timed)


@pytest.mark.slow
def test_at_most_max_rows_are_measured(tmp_path: Path) -> None:
    assert measure(request(trained(tmp_path), max_rows=7)).rows == 7


@pytest.mark.slow
def test_posted_rows_are_measured(tmp_path: Path) -> None:
    file = trained(tmp_path)
    data = memory_mapped_datasets.load(DATA, SPLIT, DataDirectory(tmp_path).data_cache)
    inputs, targets = data.split("validation")
    posted = tmp_path / "posted.safetensors"
    save_file({"inputs": np.asarray(inputs[:20], np.float32), "targets": np.asarray(targets[:20])}, posted)
    assert measure(request(file, split="", posted=str(posted))).rows == 20


class Outlier(nn.Module):
    """A layer in which one input is so large that int8 rounds the others, which decide, to zero."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(65, 10, bias=False)
        with torch.no_grad():
            self.linear.weight.normal_()
            self.linear.weight[:, 0] = 0.0

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        large = torch.full_like(rows[:, :1], 1e5)
        outputs: torch.Tensor = self.linear(torch.cat([large, rows], dim=1))
        return outputs


@pytest.mark.slow
def test_network_that_quantizes_badly_stays_in_float32(tmp_path: Path) -> None:
    file = trained(tmp_path)
    torch.manual_seed(0)
    network = Outlier().eval()
    data = memory_mapped_datasets.load(DATA, SPLIT, DataDirectory(tmp_path).data_cache)
    rows = torch.from_numpy(np.asarray(data.split("calibration")[0], np.float32))
    classes = torch.from_numpy(np.asarray(data.split("calibration")[1]))
    weight = torch.zeros(10, 64, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        nn.functional.cross_entropy(rows @ weight.T, classes).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        network.linear.weight[:, 1:] = weight

    def load_network(file: ModelFile) -> SingleNetwork:
        one = deepcopy(network)
        if file.precision == "int8":
            assert int8_linear.quantize(one) == 1
        return SingleNetwork(PlacedNetwork(ServingModule(one, Task.CLASSIFICATION).eval(), CPU))

    base, other = measure(request(file), load_network=load_network).figures
    assert base.loss is not None and other.loss is not None and base.accuracy is not None
    assert base.accuracy > 0.9 and other.loss > 2 * base.loss
    precision, reason = choose(base, other, 0.01)
    assert precision is FLOAT32 and "its loss rises by" in reason


class Timed(SingleNetwork):
    """A network whose computations take a set time on a fake clock."""

    def __init__(self, placed: PlacedNetwork, clock: FakeClock, took_s: Callable[[int], float]) -> None:
        super().__init__(placed)
        self._clock = clock
        self._took_s = took_s

    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        self._clock.advance(self._took_s(len(inputs)))
        return super().predict(inputs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("took_s", "chosen", "words"),
    [
        pytest.param(
            lambda rows: 1e-3 + rows * 1e-4,
            INT8,
            "1.00 × for one row and 1.00 × for 256 rows, 0.28 ×",
            marks=pytest.mark.slow,
        ),
        (lambda rows: 5e-3 + rows * 1e-4, FLOAT32, "int8 needs 0.28 × the bytes, but the time is 4.64 × for one row"),
        pytest.param(
            lambda rows: 5e-3 + rows * 1e-5, INT8, "4.55 × for one row and 0.28 × for 256 rows", marks=pytest.mark.slow
        ),
    ],
    ids=["as fast", "slower", "faster with many rows"],
)
def test_latency_decides(tmp_path: Path, took_s: Callable[[int], float], chosen: Precision, words: str) -> None:
    file = trained(tmp_path)
    clock = FakeClock()

    def load_network(file: ModelFile) -> SingleNetwork:
        placed = precision_measurement_process.load_one_member(file).placed
        return Timed(placed, clock, took_s if file.precision == "int8" else lambda rows: 1e-3 + rows * 1e-4)

    base, other = measure(request(file), load_network=load_network, clock=clock.monotonic_s).figures
    assert base.p50_us == pytest.approx((1100.0, 26_600.0))
    precision, reason = choose(base, other, 1.0)
    assert precision is chosen and words in reason


def test_precision_that_fails_is_named_and_the_others_are_measured(tmp_path: Path) -> None:
    file = trained(tmp_path)
    found = {one.precision: one for one in measure(request(file, FLOAT32, Precision.FLOAT16, BFLOAT16)).figures}
    assert "on CPUs it is 6 to 56 times slower" in found[Precision.FLOAT16].error
    assert not found[FLOAT32].error and not found[BFLOAT16].error
    assert found[BFLOAT16].weights_bytes < 0.51 * found[FLOAT32].weights_bytes
    precision, reason = choose(found[FLOAT32], found[Precision.FLOAT16], 1.0)
    assert precision is FLOAT32 and "float16 could not be measured" in reason
