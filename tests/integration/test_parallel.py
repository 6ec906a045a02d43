"""`podium.parallel` in real ranks: equal to one process, late gradients, ranks that end or never join."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from podium import parallel
from tests.integration.rank_programs import data_parallel, late_replica, pipelined
from tests.ranks import PROGRAMS, TIMEOUT_S, WITHOUT_GPUS, rank_template, run_ranks, running_ranks

SLOW = pytest.mark.slow
EXACT = 1e-12  # float64


def printed(program: str, size: int, *arguments: str | Path) -> list[Any]:
    """What each rank printed."""
    return [json.loads(each.output) for each in run_ranks([PROGRAMS / program, *arguments], size)]


def one_process(batches: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[list[list[float]], float]:
    """The parameters after each step of one process, and the last loss."""
    model = data_parallel.network()
    optimizer = data_parallel.optimizer_of(model)
    curve, loss = [], torch.zeros(())
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        torch.autograd.backward(loss)
        optimizer.step()
        curve.append(data_parallel.flat(model))
    return curve, float(loss.detach())


def joined_batches(replicas: int, steps: int = data_parallel.STEPS) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The batches of all replicas, concatenated for each step."""
    each = [[data_parallel.batch(step, rank) for rank in range(replicas)] for step in range(steps)]
    return [(torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])) for parts in each]


@pytest.mark.parametrize("options", [["sync"], pytest.param(["spares", "spares=0"], marks=SLOW)], ids=" ".join)
def test_a_step_equals_one_process_over_the_concatenated_batch(options: list[str]) -> None:
    found = printed("data_parallel.py", 2, *options)
    curve, loss = one_process(joined_batches(2))
    for rank in found:
        assert rank["curve"] == [pytest.approx(step, abs=EXACT) for step in curve]
        assert rank["loss"] == pytest.approx(loss)
        assert rank["step"] == data_parallel.STEPS
    assert found[0]["state"] == pytest.approx(found[1]["state"])
    assert found[0]["final"] == found[1]["final"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [["sync"], pytest.param(["spares", "spares=0"], marks=SLOW)], ids=" ".join)
def test_compressed_gradients_have_the_precision_of_bfloat16(options: list[str]) -> None:
    """Eight bits: not equal to one process, but near it."""
    found = printed("data_parallel.py", 2, *options, 'compression="bfloat16"')
    curve, _ = one_process(joined_batches(2))
    assert found[0]["final"] == found[1]["final"]
    assert found[0]["final"] != pytest.approx(curve[-1], abs=1e-6)
    assert found[0]["final"] == pytest.approx(curve[-1], abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("options", [pytest.param(["sync"], marks=SLOW), ["spares", "spares=1"]], ids=" ".join)
def test_statistics_of_batch_normalization_are_those_of_rank_0(options: list[str]) -> None:
    first, second = printed("data_parallel.py", 2, *options, "normalized")
    assert first["own buffers"] != second["own buffers"]
    assert first["own buffers"] == first["buffers"] == second["buffers"]
    assert first["final"] == second["final"]


@pytest.mark.slow
def test_late_gradients_never_count(tmp_path: Path) -> None:
    """Two of three replicas make three updates, while the spare computes a gradient for the first one."""
    found = printed("late_replica.py", 3, tmp_path)
    curve, _ = one_process(joined_batches(2, late_replica.STEPS))
    assert found[0]["curve"] == {str(step + 1): pytest.approx(each, abs=EXACT) for step, each in enumerate(curve)}
    assert found[1]["curve"] == found[0]["curve"]
    assert found[2]["curve"] == {"3": found[0]["curve"]["3"]}
    assert [each["dropped"] for each in found] == [0, 0, 1]
    assert all(each["final"] == found[0]["final"] for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, pytest.param(2, marks=SLOW)])
def test_asynchronous_training_with_warm_up_equals_one_process_after_the_other(servers: int) -> None:
    """Rank 0 makes all updates of the warm-up and leaves; then rank 1 continues from there, so the order is known."""
    options = [f"servers={servers}", f"warm_up_steps={data_parallel.STEPS}", "max_staleness=0"]
    found = printed("data_parallel.py", 2, "async", *options)
    batches = [data_parallel.batch(step, rank) for rank in range(2) for step in range(data_parallel.STEPS)]
    curve, _ = one_process(batches)
    assert found[0]["curve"] == [pytest.approx(each, abs=EXACT) for each in curve[: data_parallel.STEPS]]
    assert found[1]["curve"] == [pytest.approx(each, abs=EXACT) for each in curve[data_parallel.STEPS :]]
    assert all(each["final"] == found[1]["curve"][-1] and each["step"] == len(batches) for each in found)
    assert found[0]["state"] == found[1]["state"]


@pytest.mark.parametrize(
    ("size", "arguments"),
    [pytest.param(2, ["gpipe"], marks=SLOW), (3, ["1f1b", "predict"])],
    ids=["GPipe, 2 stages", "1F1B, 3 stages"],
)
def test_a_pipeline_equals_one_process(size: int, arguments: list[str]) -> None:
    found = printed("pipelined.py", size, *arguments)
    model = pipelined.network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(pipelined.STEPS):
        inputs, targets = pipelined.batch(step)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        torch.autograd.backward(loss)
        optimizer.step()
        assert found[0]["losses"][step] == pytest.approx(float(loss.detach()), abs=1e-6)
    weights = {name: torch.tensor(value) for name, value in found[0]["weights"].items()}
    torch.testing.assert_close(weights, dict(model.state_dict()), rtol=0, atol=1e-6)
    outputs = torch.tensor(found[0]["outputs"])
    torch.testing.assert_close(outputs, model(pipelined.batch(99, rows=11)[0]).detach(), rtol=0, atol=1e-6)
    assert all({**each, "layers": 0} == {**found[0], "layers": 0} for each in found)
    assert sum(each["layers"] for each in found) == len(model)


def test_a_process_without_ranks_is_a_group_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    model = data_parallel.network()
    with parallel.join() as group:
        assert (group.rank, group.size, group.mean(3.5)) == (0, 1, 3.5)
        with pytest.raises(parallel.ParallelError, match=r"spares is 1; it must be 0 to 0 with 1 replica$"):
            parallel.SynchronousWithSpares(group, model, data_parallel.optimizer_of(model), spares=1)
        with pytest.raises(parallel.ParallelError, match="servers is 2; it must be 1 to 1"):
            parallel.Asynchronous(group, model, data_parallel.optimizer_of(model), servers=2)
        with pytest.raises(parallel.ParallelError, match="is initialized already; use join"), parallel.join():
            pass
        with parallel.Asynchronous(group, model, data_parallel.optimizer_of(model)) as trainer:
            for inputs, targets in joined_batches(1):
                trainer.step(lambda x=inputs, y=targets: nn.functional.cross_entropy(model(x), y))  # type: ignore[misc]
    assert data_parallel.flat(model) == pytest.approx(one_process(joined_batches(1))[0][-1], abs=EXACT)


def trained_replica(group: parallel.Group, options: dict[str, Any]) -> weakref.ref[nn.Module]:
    model = data_parallel.network()
    inputs, targets = data_parallel.batch(0, 0)
    with parallel.Synchronous(group, model, data_parallel.optimizer_of(model), **options) as trainer:
        trainer.step(lambda: nn.functional.cross_entropy(trainer.model(inputs), targets))
    return weakref.ref(trainer.model)


@pytest.mark.parametrize("options", [{}, {"compression": torch.bfloat16}], ids=["float32", "bfloat16"])
def test_the_network_of_a_synchronous_trainer_is_freed_with_it(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    gc.disable()
    try:
        with parallel.join() as group:
            assert trained_replica(group, options)() is None
    finally:
        gc.enable()


def test_the_process_group_is_not_destroyed_with_the_network() -> None:
    """The reducer of the network would wait for the threads of gloo with the GIL that they may need."""
    assert printed("dropped_network.py", 1) == [0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "served", [pytest.param(True, marks=SLOW), False], ids=["store of the launcher", "store of rank 0"]
)
def test_ranks_join_again(served: bool) -> None:
    with running_ranks([PROGRAMS / "joining.py", "100", "3"], 2, served=served) as running:
        results = running.results()
    for rank, each in enumerate(results):
        assert each.status == 0, each.errors
        assert each.output == f"{rank} 2 0.5 cpu\n" * 3


@SLOW
def test_ranks_of_torchrun_join() -> None:
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", PROGRAMS / "joining.py", "60"]
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **WITHOUT_GPUS},
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.terminate()  # torchrun ends its ranks, which are in sessions of their own
        process.wait(30)
    assert sorted(output.split("\n")[:2]) == ["0 2 0.5 cpu", "1 2 0.5 cpu"], errors


@pytest.mark.parametrize(
    "served",
    [pytest.param(True, marks=SLOW), pytest.param(False, marks=SLOW)],
    ids=["store of the launcher", "store of rank 0"],
)
def test_a_rank_that_never_joins_is_named(served: bool) -> None:
    with running_ranks([PROGRAMS / "joining.py", "20"], 3, missing=[1], served=served) as running:
        results = running.results()
    assert [each.status for each in results] == [1, 1]
    assert "rank 1 of 3 did not join at 127.0.0.1:" in results[0].errors
    assert "within 20 s; see the output of the missing ranks" in results[0].errors


@SLOW
def test_a_rank_that_joins_but_cannot_connect_ends_the_others_within_the_time_to_join() -> None:
    with running_ranks([PROGRAMS / "joining.py", "30", "1", "absent0"], 3) as running:
        results = running.results()
    assert [each.status for each in results] == [1, 1, 1]
    assert "ParallelError: rank 1 cannot connect to the other ranks: RuntimeError: " in results[1].errors
    for result in (results[0], results[2]):
        assert "RankLostError: rank" in result.errors
        assert "rank 1 ended with ParallelError: rank 1 cannot connect to the other ranks" in result.errors


def test_without_rank_0_the_address_is_named() -> None:
    with running_ranks([PROGRAMS / "joining.py", "3"], 2, missing=[0], served=False) as running:
        (result,) = running.results()
    assert result.status == 1
    assert "ParallelError: rank 1 cannot reach rank 0 at 127.0.0.1:" in result.errors


@pytest.mark.parametrize("mode", ["sync", pytest.param("spares", marks=SLOW), pytest.param("async", marks=SLOW)])
def test_a_killed_rank_ends_the_others_with_an_error(mode: str) -> None:
    with running_ranks([PROGRAMS / "ending_ranks.py", mode, "killed"], 3) as running:
        results = running.results()
    assert results[1].status == -signal.SIGKILL
    for result in (results[0], results[2]):
        assert result.status != 0
        assert "RankLostError: rank" in result.errors
    if mode != "sync":
        assert all("rank 1 ended, or cannot be reached" in each.errors for each in (results[0], results[2]))


@pytest.mark.parametrize(
    "how", ["killed while rank 2 computes", pytest.param("killed while the others close", marks=SLOW)]
)
def test_a_killed_rank_is_named_by_ranks_that_do_not_wait_for_an_answer(how: str, tmp_path: Path) -> None:
    with running_ranks([PROGRAMS / "ending_ranks.py", "spares", how, tmp_path], 3) as running:
        results = running.results()
    assert results[1].status == -signal.SIGKILL
    for result in (results[0], results[2]):
        assert "RankLostError: rank" in result.errors
        assert "rank 1 ended, or cannot be reached" in result.errors


@pytest.mark.parametrize("mode", ["sync", pytest.param("spares", marks=SLOW)])
def test_the_error_of_a_rank_is_in_the_error_of_the_others(mode: str) -> None:
    with running_ranks([PROGRAMS / "ending_ranks.py", mode, "raises"], 2) as running:
        results = running.results()
    assert all(each.status != 0 for each in results)
    assert "RankLostError: rank" in results[0].errors
    assert "rank 1 ended with ZeroDivisionError: a bug of rank 1" in results[0].errors


@SLOW
def test_a_rank_that_continues_after_its_error_ends_the_others() -> None:
    """They notice it by the end of its process group, not of its process."""
    with running_ranks([PROGRAMS / "ending_ranks.py", "sync", "raises and continues"], 2) as running:
        assert rank_template().wait(running.ranks[0], TIMEOUT_S) == 1
        assert not rank_template().has_ended(running.ranks[1])


@SLOW
def test_an_error_of_an_update_when_a_replica_leaves_ends_all(tmp_path: Path) -> None:
    """The optimizer of rank 0 raises in a thread, while rank 0 waits for this update."""
    with running_ranks([PROGRAMS / "failing_update.py", tmp_path], 2) as running:
        results = running.results()
    assert [each.status for each in results] == [1, 1]
    assert "ZeroDivisionError in an update: a bug of the optimizer" in results[0].errors
    assert "ZeroDivisionError" in results[1].errors
