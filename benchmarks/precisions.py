"""A network in each precision, and in int8 by other libraries: loss, accuracy, latency and memory on calibration rows.

    python -m benchmarks.precisions --hidden 1024 --layers 3

Trains an MLP on Fashion-MNIST (Debian's package `dataset-fashion-mnist`) for some epochs, and measures it as the build
of an ensemble does: with the same code, in this process, with one thread. `quantize_dynamic` of PyTorch and, if it is
installed, torchao are measured next to it.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from podium.ensemble.values.ensemble_spec import Precision, Task
from podium.ensemble.values.precision_selection import PrecisionFigures, choose
from podium.ensemble.worker.architecture_groups import PlacedNetwork
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import ServingModule, SingleNetwork, load
from podium.ensemble.worker.precision_measurement_messages import MeasurementRequest
from podium.ensemble.worker.precision_measurement_process import measure
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.networks import models, weight_files
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from tests.networks import CPU, combination

DATA = {"name": "fashion-mnist", "root": "/usr/share/datasets/fashion-mnist"}
SPLIT = {"split": [0.5, 0.2, 0.1, 0.2], "seed": 0}
BATCH = 256
Quantize = Callable[[nn.Module], nn.Module]


def trained(folder: Path, hidden: int, layers: int, epochs: int) -> tuple[nn.Module, ModelFile]:
    data = memory_mapped_datasets.load(DATA, SPLIT, DataDirectory(folder).data_cache)
    architecture = {
        "model": "mlp", "settings": {"hidden": hidden, "layers": layers, "dropout": 0.0, "activation": "relu"},
        "image": list(data.image), "classes": 10, "mean": data.mean, "deviation": data.std,
        "labels": list(data.classes), "data": DATA, "split": SPLIT,
    }  # fmt: skip
    torch.manual_seed(0)
    model = models.build(architecture)
    inputs, targets = data.split("train")
    rows, classes = torch.from_numpy(np.asarray(inputs, np.float32)), torch.from_numpy(np.asarray(targets))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for some in torch.randperm(len(rows)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(rows[some]), classes[some]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    path = folder / "model.safetensors"
    weight_files.save_weights(model.eval(), path, {"architecture": json.dumps(architecture)})
    return model, ModelFile(str(path), sha256_of(path), 0, str(folder))


def other_libraries() -> dict[str, Quantize]:
    """By name, ways to quantize the linear layers of a network."""
    found: dict[str, Quantize] = {
        "quantize_dynamic": lambda model: torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    }
    try:
        from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_
    except ImportError:
        return found

    def by_torchao(model: nn.Module) -> nn.Module:
        quantize_(model, Int8DynamicActivationInt8WeightConfig())
        return model

    return {**found, "torchao": by_torchao}


def shown(name: str, figures: PrecisionFigures, note: str = "") -> None:
    if figures.error:
        print(f"{name:<18}{figures.error}")
        return
    one, several = figures.p50_us
    process = (figures.process_bytes or 0) / 2**20
    print(
        f"{name:<18}{figures.accuracy:>8.4f}{figures.loss:>9.5f}{one:>11.0f}{several:>12.0f}"
        f"{figures.weights_bytes / 2**20:>10.2f}{process:>9.2f}  {note}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # quantize_dynamic is deprecated
    with tempfile.TemporaryDirectory() as folder:
        model, file = trained(Path(folder), options.hidden, options.layers, options.epochs)
        torch.set_num_threads(1)
        print(f"{'':<18}accuracy     loss  1 row, us  256 rows, us  weights  process (MiB)")
        precisions = (Precision.FLOAT32, Precision.BFLOAT16, Precision.FLOAT16, Precision.INT8)
        base, *others = measure(MeasurementRequest(file, precisions, threads=1, split="calibration")).figures
        shown("float32", base)
        for figures in others:
            shown(figures.precision.value, figures, choose(base, figures, 0.01)[1])
        for name, quantize in other_libraries().items():

            def load_other(one: ModelFile, quantize: Quantize = quantize) -> SingleNetwork:
                if one.precision == "float32":
                    return load([one], in_graph=False, combination=combination([1.0]))  # type: ignore[return-value]
                quantized = ServingModule(quantize(copy.deepcopy(model)), Task.CLASSIFICATION).eval()
                return SingleNetwork(PlacedNetwork(quantized, CPU))

            request = MeasurementRequest(file, (Precision.FLOAT32, Precision.INT8), threads=1, split="calibration")
            _, figures = measure(request, load_network=load_other).figures
            shown(name, figures)
        batch_dependence(model)


def batch_dependence(model: nn.Module) -> None:
    """By how much the probabilities of a row depend on the other rows of its batch."""
    rows = torch.rand(64, 784, generator=torch.Generator().manual_seed(0)) * 255
    rows[1:] *= torch.linspace(0, 4, 63).unsqueeze(1)
    for name, quantize in other_libraries().items():
        with torch.inference_mode():
            quantized = ServingModule(quantize(copy.deepcopy(model)), Task.CLASSIFICATION).eval()
            difference = (quantized(rows)[:1] - quantized(rows[:1])).abs().max()
        print(f"{name}: a row alone and in a batch of 64 differ by {difference:.1e}")


if __name__ == "__main__":
    main()
