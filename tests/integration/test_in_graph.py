"""In-graph ensembles: predictions equal the loop over members, and invalid files are refused by name."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from podium.ensemble.protocol.prediction_messages import Reply, Request, pack_requests, unpack_replies
from podium.ensemble.scoring import combine
from podium.ensemble.values.ensemble_spec import Precision, Rule, Task
from podium.ensemble.worker import forked_plan_preparation, in_graph_network, plan_selection, worker_process
from podium.ensemble.worker.control_messages import Phase, WorkerAssignment, WorkerReport
from podium.ensemble.worker.execution_plans import Plan
from podium.ensemble.worker.in_graph_network import GroupRunner, InGraphNetwork
from podium.ensemble.worker.inference_server import WorkerServer
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import SingleNetwork, load
from podium.sweep.networks import models, weight_files
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import EnsembleError
from tests.message_client import MessageClient
from tests.networks import (
    MLP,
    ROWS,
    FailsOnValue,
    ReturnsNan,
    architecture,
    combination,
    network,
    placed,
    saved,
    traced_network,
)

WEIGHTS = (0.5, 0.3, 0.4)
KINDS = [("mlp", "mlp", "mlp"), ("cnn", "cnn", "cnn"), ("mlp", "cnn", "mlp")]


def loaded(
    files: Sequence[ModelFile], *, in_graph: bool = False, precision: Precision = Precision.FLOAT32, **how: Any
) -> SingleNetwork | InGraphNetwork:
    weights = WEIGHTS[: len(files)]
    files = [replace(file, precision=precision.value) for file in files]
    return load(files, in_graph=in_graph, combination=combination(weights, **how))


def looped(*modules: nn.Module) -> np.ndarray:
    with torch.inference_mode():
        return np.stack([torch.softmax(module(torch.from_numpy(ROWS)), dim=1).numpy() for module in modules])


def warmed(ensemble: InGraphNetwork) -> InGraphNetwork:
    ensemble.warm(64, budget_s=0.5)
    return ensemble


@pytest.mark.parametrize("kinds", KINDS, ids=", ".join)
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_in_graph_predictions_equal_loop_over_members_and_their_mean(kinds: tuple[str, ...], warm: bool) -> None:
    members = [network(seed, kind) for seed, kind in enumerate(kinds)]
    loop = looped(*members)
    ensemble = traced_network([placed(member) for member in members], WEIGHTS)
    found = (warmed(ensemble) if warm else ensemble).predict(ROWS)
    assert found.predictions.shape == (3, 17, 4) and not found.failed and found.combined is not None
    assert found.predictions.dtype == found.combined.dtype == np.float32
    np.testing.assert_allclose(found.predictions, loop, atol=1e-6)
    np.testing.assert_allclose(found.combined, np.average(loop, axis=0, weights=WEIGHTS), atol=1e-6)


@pytest.mark.parametrize("rule", [Rule.MEAN, Rule.MEDIAN, Rule.LOGIT_MEAN, Rule.HARD_VOTE])
def test_combination_is_bitwise_equal_to_between_graph(rule: Rule) -> None:
    how = combination(WEIGHTS, rule)
    found = InGraphNetwork([placed(network(seed)) for seed in range(3)], how).predict(ROWS)
    assert found.combined is not None
    np.testing.assert_array_equal(found.combined, combine.combine(how, found.predictions, (0, 1, 2)))


@pytest.mark.parametrize("kinds", KINDS, ids=", ".join)
def test_both_modes_give_equal_predictions_from_same_files(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    files = [saved(tmp_path, seed, kind) for seed, kind in enumerate(kinds)]
    together = loaded(files, in_graph=True).predict(ROWS)
    alone = np.concatenate([loaded([file]).predict(ROWS).predictions for file in files])
    np.testing.assert_allclose(together.predictions, alone, atol=1e-6)
    assert together.combined is not None
    np.testing.assert_allclose(together.combined, combine.combine(combination(WEIGHTS), alone, range(3)), atol=1e-6)


def test_regression_predicts_values(tmp_path: Path) -> None:
    known: dict[str, Any] = {
        "task": "regression",
        "classes": 2,
        "target_mean": [100.0, -3.0],
        "target_deviation": [20.0, 0.5],
    }
    file = saved(tmp_path, 0, **known)
    single = loaded([file], task=Task.REGRESSION)
    assert isinstance(single, SingleNetwork)
    single.warm(64)
    with torch.inference_mode():
        values = network(0, **known)(torch.from_numpy(ROWS)).numpy()
    np.testing.assert_array_equal(single.predict(ROWS).predictions[0], values)
    together = loaded([file, file], in_graph=True, task=Task.REGRESSION).predict(ROWS)
    assert together.combined is not None
    np.testing.assert_allclose(together.combined, values, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_bfloat16_is_close_and_combined_in_float32(tmp_path: Path, model: str) -> None:
    files = [saved(tmp_path, seed, model) for seed in range(3)]
    exact = loaded(files, in_graph=True).predict(ROWS)
    rough = loaded(files, in_graph=True, precision=Precision.BFLOAT16)
    assert isinstance(rough, InGraphNetwork)
    found = warmed(rough).predict(ROWS)
    assert found.predictions.dtype == np.float32 and found.combined is not None and exact.combined is not None
    assert np.abs(found.predictions - exact.predictions).max() > 1e-5
    np.testing.assert_allclose(found.predictions, exact.predictions, atol=0.05)
    np.testing.assert_allclose(found.combined.sum(axis=1), 1, atol=1e-6)


def test_ensemble_of_one_equals_its_member() -> None:
    found = warmed(traced_network([placed(network(0))])).predict(ROWS)
    assert found.combined is not None
    np.testing.assert_allclose(found.predictions, looped(network(0)), atol=1e-6)
    np.testing.assert_array_equal(found.combined, found.predictions[0])


def test_saved_network_predicts_the_same_after_loading(tmp_path: Path) -> None:
    before = SingleNetwork(placed(network(3, "cnn"))).predict(ROWS)
    after = loaded([saved(tmp_path, 3, "cnn")]).predict(ROWS)
    np.testing.assert_array_equal(after.predictions, before.predictions)
    assert after.predictions.shape == (1, 17, 4) and after.combined is None and not after.failed


def test_prediction_does_not_depend_on_other_rows_of_batch(tmp_path: Path) -> None:
    """Batch norm and dropout are in evaluation mode."""
    ensemble = loaded([saved(tmp_path, 1, "cnn"), saved(tmp_path, 2, "mlp")], in_graph=True)
    together = ensemble.predict(ROWS).predictions
    single = np.concatenate([ensemble.predict(ROWS[n : n + 1]).predictions for n in range(len(ROWS))], axis=1)
    np.testing.assert_allclose(single, together, atol=1e-6)


def test_read_only_rows_are_accepted(tmp_path: Path) -> None:
    rows = np.frombuffer(ROWS.tobytes(), np.float32).reshape(ROWS.shape)
    assert not rows.flags.writeable
    for in_graph_too in (False, True):
        found = loaded([saved(tmp_path, 1)], in_graph=in_graph_too).predict(rows)
        assert found.predictions.shape == (1, 17, 4)


# Several devices, represented by two CPU slots.


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
def test_members_on_several_devices_keep_their_order(at_once: bool) -> None:
    members = [network(seed, kind) for seed, kind in enumerate(("mlp", "cnn", "mlp", "mlp", "cnn"))]
    loop = looped(*members)
    placed_members = [placed(member, slot=position % 2) for position, member in enumerate(members)]
    ensemble = traced_network(placed_members, at_once_below=1e9 if at_once else 0.0)
    found = warmed(ensemble).predict(ROWS)
    assert set(ensemble.plan()["devices_at_once"].values()) == {at_once}
    np.testing.assert_allclose(found.predictions, loop, atol=1e-6)


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
def test_failure_on_one_device_does_not_affect_other(at_once: bool) -> None:
    ensemble = traced_network([placed(FailsOnValue(network(0), ROWS[0, 0])), placed(network(1), slot=1)])
    ensemble.at_once = dict.fromkeys(ensemble.at_once, at_once)
    found = ensemble.predict(ROWS)
    assert set(found.failed) == {0} and np.isfinite(found.predictions[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 1e9], ids=["one thread", "several"])
def test_several_threads_are_used_only_when_faster(share: float) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        ensemble = warmed(traced_network([placed(network(0)), placed(network(1))], several_below=share))
        expected = 2 if share else 1
        assert ensemble.plan()["threads"] == {"1": expected, "64": expected, "1024": expected}
        torch.set_num_threads(3 - expected)
        ensemble.predict(ROWS)
        assert torch.get_num_threads() == expected
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("row_us", "several", "rows", "threads"), [(1.0, 0.9, 1024, 2), (1.0, 1.0, 1024, 1), (500.0, 0.9, 400, 2)]
)
def test_threads_are_compared_by_round_and_slow_networks_on_fewer_rows(
    row_us: float, several: float, rows: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = itertools.cycle([1, 1, 3, 3])  # both computations of every second round take three times as long
    timed: list[int] = []

    def time_us(_: object, sample: torch.Tensor) -> float:
        timed.append(len(sample))
        if len(timed) == 1:  # of 64 rows, to choose how many are timed
            return len(sample) * row_us
        return len(sample) * row_us * next(load) * (several if torch.get_num_threads() > 1 else 1)

    monkeypatch.setattr(in_graph_network, "timed_us", time_us)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        ensemble = traced_network([placed(network(0))])
        ensemble.choose_threads({1024: torch.zeros((1024, 64))})
        assert ensemble.plan()["threads"]["1024"] == threads
        assert timed[0] == 64 and set(timed[1:]) == {rows}
    finally:
        torch.set_num_threads(before)


def test_slow_network_is_timed_on_at_least_the_rows_above_the_size_below(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble, sample = traced_network([placed(network(0))]), torch.zeros((1024, 64))
    for took_us, rows in ((1e9, 65), (100_000, 128), (10, 1_280_000)):  # of 64 rows
        monkeypatch.setattr(in_graph_network, "timed_us", lambda _, __, took_us=took_us: took_us)
        assert ensemble.quick_rows(sample) == rows


def test_number_of_threads_is_also_set_when_another_thread_has_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenMP has a number for each thread, MKL one for the process."""
    was_set: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", was_set.append)
    monkeypatch.setattr(in_graph_network.ThreadNumber, "last", None)
    for own_number in (1, 1, 2, 1, 1, 2):  # threads that have computed with 1 and with 2 take turns
        monkeypatch.setattr(torch, "get_num_threads", lambda own_number=own_number: own_number)
        in_graph_network.use_threads(own_number)
    assert was_set == [1, 2, 1, 2]


# Members that fail.


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_exception_is_attributed_to_member_that_raised(warm: bool) -> None:
    members = [network(0), network(1), network(2)]
    loop = looped(*members)
    fussy = [FailsOnValue(member, 5.0) for member in (members[0], members[1])]
    fussy[1].at.fill_(float(ROWS[3, 0]))
    ensemble = traced_network([placed(fussy[0]), placed(fussy[1]), placed(members[2])])
    found = (warmed(ensemble) if warm else ensemble).predict(ROWS)
    assert found.failed == {1: "ArithmeticError: such a row is not to my taste"}
    assert found.combined is None
    assert np.isnan(found.predictions[1]).all()
    np.testing.assert_allclose(found.predictions[[0, 2]], loop[[0, 2]], atol=1e-6)
    after = ensemble.predict(ROWS[4:])
    assert not after.failed and after.combined is not None


def test_reason_is_raised_when_no_member_runs() -> None:
    ensemble = traced_network([placed(network(0)), placed(network(1))])
    with pytest.raises(RuntimeError, match="all members failed; first error: RuntimeError"):
        ensemble.predict(ROWS[:, :63])
    assert not ensemble.predict(ROWS).failed


def test_no_combination_is_returned_when_member_predicts_nan() -> None:
    ensemble = traced_network([placed(network(0)), placed(ReturnsNan())])
    found = ensemble.predict(ROWS)
    assert found.combined is None and not found.failed
    assert np.isfinite(found.predictions[0]).all() and np.isnan(found.predictions[1]).all()


def test_plan_is_discarded_when_it_raises_but_loop_works(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble = warmed(traced_network([placed(network(0)), placed(network(1))]))
    (running,) = ensemble.runners

    def broken(_: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(GroupRunner, "plan_of", lambda *_: broken)
    found = ensemble.predict(ROWS)
    assert not found.failed and found.combined is not None
    np.testing.assert_allclose(found.predictions, looped(network(0), network(1)), atol=1e-6)
    assert ensemble.plan()["groups"][0]["fell_back"] == "RuntimeError: out of luck"
    assert {choice.plan for choice in running.choices.values()} == {Plan.LOOP}


def test_plan_is_kept_when_a_member_fails() -> None:
    ensemble = warmed(traced_network([placed(network(0)), placed(network(1))]))
    with pytest.raises(RuntimeError, match="all members failed"):
        ensemble.predict(ROWS[:, :60])
    assert ensemble.plan()["groups"][0]["fell_back"] == ""


def test_ensemble_starts_when_member_raises_on_warm_up_rows() -> None:
    first = plan_selection.samples(64, torch.device("cpu"))[1][0, 0]
    ensemble = warmed(traced_network([placed(network(0)), placed(FailsOnValue(network(1), float(first)))]))
    assert [group["fell_back"] for group in ensemble.plan()["groups"]] == [
        "", "ArithmeticError: such a row is not to my taste",
    ]  # fmt: skip
    assert not ensemble.predict(ROWS).failed


def test_ensemble_does_not_start_when_no_member_computes() -> None:
    with pytest.raises(RuntimeError, match="all members failed"):
        traced_network([placed(network(0)), placed(network(1))]).warm(63)


# The worker process, in the test process.


def assignment(files: list[ModelFile], endpoint: str, *, in_graph: bool = False) -> WorkerAssignment:
    return WorkerAssignment(
        name="worker-1-1-0-0-3", files=tuple(files), in_graph=in_graph, endpoint=endpoint, epoch=3, features=64,
        combination=combination(WEIGHTS[: len(files)]).to_json(), threads=1,
    )  # fmt: skip


@pytest.mark.parametrize("whole_ensemble", [False, True], ids=["between graph", "in graph"])
def test_worker_serves_after_warm_up(tmp_path: Path, whole_ensemble: bool) -> None:
    files = [saved(tmp_path, seed) for seed in range(2 if whole_ensemble else 1)]
    endpoint = f"unix:{tmp_path / 'm'}"
    reports: list[WorkerReport] = []
    answered: list[Reply] = []

    def ask(server: WorkerServer | None) -> None:
        assert server is not None
        client = MessageClient(endpoint)
        client.send(pack_requests([Request(7, 3, 5000.0, ROWS)]))
        answered.extend(unpack_replies(client.receive()).replies())
        client.close()
        server.close()

    given = assignment(files, endpoint, in_graph=whole_ensemble)
    assert worker_process.serve(given, reports.append, ask, warm_s=0.5) == 0
    (report,) = reports
    assert (report.phase, report.pid) == (Phase.READY, os.getpid())
    assert [group["members"] for group in report.plan.get("groups", [])] == ([[0, 1]] if whole_ensemble else [])
    assert report.plan.get("state", "") == ("chosen" if whole_ensemble else ""), "not prepared later"
    (reply,) = answered
    assert (reply.request_id, reply.status, reply.combined is not None) == (7, "ok", whole_ensemble)
    assert reply.predictions is not None and reply.predictions.shape == (len(files), 17, 4)


def test_plans_are_chosen_before_the_worker_is_ready_if_a_library_has_threads(tmp_path: Path) -> None:
    """A forked process would wait for these threads permanently."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.ones(1 << 20).add_(1)
        assert not forked_plan_preparation.can_fork(threading.active_count())
        reports: list[WorkerReport] = []

        def close(server: WorkerServer | None) -> None:
            assert server is not None
            server.close()

        own = assignment([saved(tmp_path, 0)], f"unix:{tmp_path / 'm'}", in_graph=True)
        assert worker_process.serve(own, reports.append, close, prepare_later=True) == 0
    finally:
        torch.set_num_threads(before)
    (report,) = reports
    assert (report.phase, report.plan["state"]) == (Phase.READY, "chosen")
    assert [size["rows"] for group in report.plan["groups"] for size in group["sizes"]] == [1, 64, 1024]


def test_worker_reports_file_that_cannot_be_loaded(tmp_path: Path) -> None:
    file = replace(saved(tmp_path, 0), sha256="0" * 64)
    reports: list[WorkerReport] = []
    waited: list[WorkerServer | None] = []
    assert worker_process.serve(assignment([file], "unix:unused"), reports.append, waited.append) == 0
    assert waited == [None], "it waits until the host has read the report"
    (report,) = reports
    assert report.phase is Phase.LOAD_FAILED
    assert "mlp-0.safetensors is damaged" in report.reason


def test_worker_that_cannot_listen_exits_with_the_reason(tmp_path: Path) -> None:
    reports: list[WorkerReport] = []
    endpoint = f"unix:{tmp_path / 'missing' / 'socket'}"
    assert worker_process.serve(assignment([saved(tmp_path, 0)], endpoint), reports.append, lambda _: None) == 1
    (report,) = reports
    assert report.phase is Phase.EXITED
    assert report.reason.startswith("FileNotFoundError: ")


def test_plan_is_serializable_and_lists_choice_for_each_size() -> None:
    ensemble = warmed(traced_network([placed(network(0)), placed(network(1, "cnn")), placed(network(2))]))
    report = json.loads(json.dumps(ensemble.plan()))
    assert [group["members"] for group in report["groups"]] == [[0, 2], [1]]
    for group in report["groups"]:
        assert [size["rows"] for size in group["sizes"]] == [1, 64, 1024]
        assert all(size["took_us"]["loop"] > 0 and size["plan"] in size["took_us"] for size in group["sizes"])
    assert report["warm_s"] > 0


@pytest.mark.parametrize(("rows", "size"), [(1, 1), (2, 64), (64, 64), (65, 1024), (5000, 1024)])
def test_batch_uses_first_size_that_fits(rows: int, size: int) -> None:
    assert in_graph_network.size_of(rows) == size


# Invalid files.


def _flip(path: Path, at: int = -5) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def _foreign(**metadata: str) -> Callable[[Path], None]:
    return lambda path: save_file({"weight": torch.zeros(3)}, path, metadata=metadata or None)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _other_shape(path: Path) -> None:
    wide = json.dumps(architecture(settings={**MLP, "hidden": 13}))
    weight_files.save_weights(network(0), path, {"architecture": wide})


HASH_TELLS: dict[str, Callable[[Path], Any]] = {"missing": Path.unlink, "a folder": _folder, "a flipped byte": _flip}
WRONG: dict[str, Callable[[Path], Any]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "empty": lambda path: path.write_bytes(b""),
    "a pickle": lambda path: torch.save(network(0).state_dict(), path),
    "another program's": _foreign(format="pt"),
    "an architecture that is not JSON": _foreign(architecture="{"),
    "an architecture with nothing in it": _foreign(architecture="{}"),
    "an unknown model": _foreign(architecture=json.dumps({**architecture(), "model": "transformer"})),
    "weights of another shape": _other_shape,
}


@pytest.mark.parametrize("in_graph", [False, True], ids=["between graph", "in graph"])
@pytest.mark.parametrize("spoil", (HASH_TELLS | WRONG).values(), ids=HASH_TELLS | WRONG)
def test_file_with_other_hash_is_refused_by_name(tmp_path: Path, spoil: Callable[[Path], Any], in_graph: bool) -> None:
    good, bad = saved(tmp_path, 0), saved(tmp_path, 1)
    spoil(Path(bad.path))
    with pytest.raises(EnsembleError, match=Path(bad.path).name):
        loaded([good, bad] if in_graph else [bad], in_graph=in_graph)


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_file_that_is_not_a_podium_model_is_refused_by_name(tmp_path: Path, spoil: Callable[[Path], Any]) -> None:
    path = Path(saved(tmp_path, 1).path)
    spoil(path)
    with pytest.raises(EnsembleError, match=path.name):
        loaded([ModelFile(str(path), sha256_of(path), 0)])


@pytest.mark.parametrize("spoil", (HASH_TELLS | WRONG).values(), ids=HASH_TELLS | WRONG)
def test_error_names_the_trial_of_the_file(tmp_path: Path, spoil: Callable[[Path], Any]) -> None:
    good, bad = saved(tmp_path, 0), saved(tmp_path, 1)
    spoil(Path(bad.path))
    with pytest.raises(EnsembleError, match=r"^trial 4 of sweep 3\b.*" + Path(bad.path).name):
        loaded([good, replace(bad, trial="trial 4 of sweep 3")])


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_error_names_the_trial_of_a_file_that_is_no_model(tmp_path: Path, spoil: Callable[[Path], Any]) -> None:
    path = Path(saved(tmp_path, 1).path)
    spoil(path)
    with pytest.raises(EnsembleError, match=r"^trial 4 of sweep 3\b.*" + path.name):
        loaded([ModelFile(str(path), sha256_of(path), 0, trial="trial 4 of sweep 3")])


def test_checkpoint_is_replaced_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.safetensors"
    weight_files.save_weights(network(1), path, {"epoch": "1"})
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        weight_files.save_weights(network(2), path, {"epoch": "2"})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    monkeypatch.undo()
    weight_files.save_weights(network(2), path, {"epoch": "2"})
    assert weight_files.load_weights(path)[1] == {"epoch": "2"}


def test_arrays_are_loaded_as_saved(tmp_path: Path) -> None:
    path = tmp_path / "predictions.safetensors"
    weight_files.save_arrays({"validation": ROWS}, path, {"trial": "7"})
    tensors, metadata = weight_files.load_weights(path, sha256_of(path))
    np.testing.assert_array_equal(tensors["validation"].numpy(), ROWS)
    assert metadata == {"trial": "7"}


# The built-in networks.

MLPS = [
    {"hidden": hidden, "layers": layers, "dropout": dropout, "activation": activation}
    for hidden, layers, dropout, activation in product((1, 9), (0, 1, 3), (0.0, 0.5), ("relu", "gelu", "tanh"))
]
CNNS = [
    {"channels": channels, "blocks": blocks, "hidden": 5, "dropout": dropout}
    for channels, blocks, dropout in product((1, 3), (1, 2, 3, 4), (0.0, 0.5))
]


@pytest.mark.parametrize("settings", MLPS, ids=lambda s: "-".join(map(str, s.values())))
def test_mlp_maps_rows_to_finite_logits(settings: dict[str, Any]) -> None:
    logits = network(0, settings=settings)(torch.from_numpy(ROWS))
    assert logits.shape == (17, 4) and torch.isfinite(logits).all()


@pytest.mark.parametrize("image", [(1, 8, 8), (1, 7, 5), (3, 3, 3), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("settings", CNNS, ids=lambda s: "-".join(map(str, s.values())))
def test_cnn_maps_images_of_any_size_to_finite_logits(settings: dict[str, Any], image: tuple[int, int, int]) -> None:
    built = models.build(architecture("cnn", settings, image=image)).eval()
    logits = built(torch.zeros(2, int(np.prod(image))))
    assert logits.shape == (2, 4) and torch.isfinite(logits).all()


def test_rows_are_standardized_inside_the_model() -> None:
    built = models.build(architecture(settings={**MLP, "layers": 0, "dropout": 0.0}, mean=2.0, deviation=4.0))
    linear = built.get_submodule("1")
    rows = torch.from_numpy(ROWS)
    torch.testing.assert_close(built(rows), linear((rows - 2.0) / 4.0))
    torch.testing.assert_close(built(rows.to(torch.uint8)), linear((rows.to(torch.uint8).float() - 2.0) / 4.0))


def test_model_that_is_not_built_in_is_refused() -> None:
    with pytest.raises(EnsembleError, match="unknown model 'rnn'"):
        models.build(architecture("mlp") | {"model": "rnn"})
