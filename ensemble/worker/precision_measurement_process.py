"""Measures a member in several precisions: loss, latency and memory; a process forked for it from the process template.

The networks are those that a between-graph worker would serve, each loaded on its own. Their latencies are measured in
turns, so that other load affects all of them.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import socket
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file

from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.scoring.scores import hits, log_losses, squared_errors
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Precision, Rule, Task
from podium.ensemble.values.precision_selection import LATENCY_ROWS, PrecisionFigures
from podium.ensemble.worker import forked_process_setup
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import SingleNetwork, load
from podium.ensemble.worker.precision_measurement_messages import MeasurementRequest, MeasurementResult
from podium.sweep.data.memory_mapped_datasets import SplitInputs
from podium.sweep.runtime import forked_process_logging
from podium.sweep.runtime.attempt_resource_usage import private_memory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import PodiumError

BATCH_ROWS = 256
ROUNDS = (7, 101)  # of a latency, minimum and maximum; an odd number has a median that was measured
TIMED_S = 0.5  # for the latencies of all precisions with one number of rows
log = logging.getLogger("podium.precision")
Clock = Callable[[], float]
LoadNetwork = Callable[[ModelFile], SingleNetwork]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows with their targets: classes (rows,), or values (rows, outputs)."""

    task: Task
    inputs: NDArray[Any] | SplitInputs
    targets: NDArray[Any]


def run_forked(arguments: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    """Measure, and send the result.

    Args:
        arguments: A `MeasurementRequest` as JSON.
        descriptors: The socket of the result, and the log.
        owner: At end-of-file when Ray's guardian has exited; then this process exits, too.
    """
    result, output = descriptors
    forked_process_setup.set_up("podium-measure", output, owner)
    pattern = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    forked_process_logging.log_to(forked_process_logging.handler_of(pattern))
    request = MeasurementRequest.from_json(arguments[0])
    torch.set_num_threads(request.threads)
    try:
        found = measure(request)
    except PodiumError as error:
        found = MeasurementResult(problem=str(error))
    except Exception as error:
        log.exception("the measurement of %s failed", request.file.path)
        found = MeasurementResult(problem=f"{type(error).__name__}: {error}"[:500])
    with socket.socket(fileno=result) as connection:
        connection.sendall(found.to_line())
    return 0


def measure(
    request: MeasurementRequest, *, load_network: LoadNetwork | None = None, clock: Clock = time.perf_counter
) -> MeasurementResult:
    """The figures of each precision; one that fails has an `error`. Raises `EnsembleError` and `DataError`."""
    rows = read_rows(request)
    load_one = load_network or load_one_member
    networks: dict[Precision, SingleNetwork] = {}
    figures: dict[Precision, PrecisionFigures] = {}
    for precision in request.precisions:
        try:
            networks[precision], figures[precision] = _measured(precision, request.file, rows, load_one)
        except Exception as error:  # noqa: BLE001 - caused by the network in this precision: it is named
            figures[precision] = PrecisionFigures(precision, error=_one_line(error))
    for precision, p50_us in _latencies(networks, rows, clock).items():
        figures[precision] = replace(figures[precision], p50_us=p50_us)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return MeasurementResult(tuple(figures.values()), len(rows.targets), device)


def read_rows(request: MeasurementRequest) -> Rows:
    """The rows of a split of the member's data, or posted rows, evenly spaced if there are more than `max_rows`."""
    architecture = saved_trial_outputs.read_architecture(Path(request.file.path))
    if request.posted:
        posted = load_file(request.posted)
        inputs, targets = posted["inputs"], posted["targets"]
    else:
        data = architecture.load_rows(DataDirectory(Path(request.file.data_dir)).data_cache)
        kept = data.rows[request.split]
        if len(kept) > request.max_rows:
            kept = kept[np.linspace(0, len(kept) - 1, request.max_rows).astype(np.intp)]
        inputs, targets = SplitInputs(data.inputs, kept), data.targets[kept]
    return Rows(architecture.task, inputs, targets)


def _measured(
    precision: Precision, file: ModelFile, rows: Rows, load_one: LoadNetwork
) -> tuple[SingleNetwork, PrecisionFigures]:
    file = replace(file, precision=precision.value)
    first = _batch(rows.inputs, 0, BATCH_ROWS)
    load_one(file).predict(first)  # what libraries allocate once does not count
    before = _memory()
    network = load_one(file)
    network.call_layers_directly(first.shape[1])  # as a worker does
    network.predict(first)
    process_bytes = _memory() - before
    starts = range(0, len(rows.targets), BATCH_ROWS)
    outputs = np.concatenate([network.predict(_batch(rows.inputs, at, BATCH_ROWS)).predictions[0] for at in starts])
    loss, accuracy = _scores(rows, outputs)
    return network, PrecisionFigures(
        precision,
        loss=loss,
        accuracy=accuracy,
        weights_bytes=network.weights_bytes(),
        process_bytes=max(0, process_bytes),
    )


def _scores(rows: Rows, outputs: NDArray[np.float32]) -> tuple[float | None, float | None]:
    """Loss and accuracy; None if they do not exist."""
    if not np.isfinite(outputs).all():
        return None, None
    if rows.task is Task.REGRESSION:
        return float(squared_errors(outputs, rows.targets).mean()), None
    return float(log_losses(outputs, rows.targets).mean()), float(hits(outputs, rows.targets).mean())


def _latencies(
    networks: Mapping[Precision, SingleNetwork], rows: Rows, clock: Clock
) -> dict[Precision, tuple[float, ...]]:
    """The medians of each network's times in microseconds, for each of `LATENCY_ROWS`."""
    found: dict[Precision, list[float]] = {precision: [] for precision in networks}
    for size in LATENCY_ROWS:
        inputs = _batch(rows.inputs, 0, size)
        inputs = np.resize(inputs, (size, inputs.shape[1]))
        took_us: dict[Precision, list[float]] = {precision: [] for precision in networks}
        least, most = ROUNDS
        end_s = clock() + TIMED_S
        for done in range(-1, most):  # the first round is slower, and is not counted
            if done >= least and done % 2 and clock() >= end_s:
                break
            for precision, network in networks.items():
                began = clock()
                network.predict(inputs)
                if done >= 0:
                    took_us[precision].append((clock() - began) * 1e6)
        for precision, times in took_us.items():
            found[precision].append(statistics.median(times))
    return {precision: tuple(times) for precision, times in found.items()}


def load_one_member(file: ModelFile) -> SingleNetwork:
    """The network of a between-graph worker with this file. Raises `EnsembleError`."""
    alone = Combination(Task.CLASSIFICATION, Rule.MEAN, (1.0,))  # between-graph, the gateway combines
    network = load([file], in_graph=False, combination=alone)
    assert isinstance(network, SingleNetwork)
    return network


def _batch(inputs: NDArray[Any] | SplitInputs, start: int, rows: int) -> NDArray[np.float32]:
    return np.ascontiguousarray(inputs[start : start + rows], dtype=np.float32)


def _memory() -> int:
    """Bytes that only this process uses, after what was freed is returned to the system; on a GPU, those of tensors."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        return int(torch.cuda.memory_allocated())
    ctypes.CDLL(None).malloc_trim(0)
    return private_memory()


def _one_line(error: Exception) -> str:
    text = str(error) if isinstance(error, PodiumError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:500]
