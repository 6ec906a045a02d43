"""Functions as Ray Tune's users write them, unchanged: each is the program of one trial."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from ray import train, tune
from ray.tune import Checkpoint, report


def reports(config: dict[str, Any]) -> None:
    for step in range(3):
        tune.report({"score": config["x"] + step, "loss": 1.0 / (step + 1), "done": False, "time": {"train": 0.5}})


def reports_by_a_bound_name(config: dict[str, Any]) -> None:
    report({"score": config["x"]})


def reports_through_train(config: dict[str, Any]) -> None:
    train.report({"score": config["x"]})
    train.report(metrics={"score": config["x"] + 1}, checkpoint=None)


def reports_through_air(config: dict[str, Any]) -> None:
    from ray.air import session

    session.report({"score": config["x"]})


def imports_late(config: dict[str, Any]) -> None:
    import ray.tune as late

    late.report({"score": 4.0, "epoch": 7})
    late.report({"score": 5.0, "epoch": 7})  # not a new step, but it counts


def returns_its_last_result(config: dict[str, Any]) -> dict[str, float]:
    tune.report({"score": 1.0, "loss": 0.5})
    return {"score": 2.0}


def returns_a_part_of_its_result(config: dict[str, Any]) -> dict[str, float]:
    for score in (0.2, 0.9, 0.5):
        tune.report({"score": score})
    return {"loss": 0.5}


def reports_epochs_for_ever(config: dict[str, Any]) -> None:
    epoch = 0
    while True:
        tune.report({"score": float(epoch), "step": 1000 * epoch, "epoch": epoch})
        epoch += 1


def reports_another_name(config: dict[str, Any]) -> None:
    tune.report({"mean_loss": 0.5})


def reports_nan_at_the_end(config: dict[str, Any]) -> None:
    tune.report({"score": 1.0})
    tune.report({"score": float("nan")})


def reports_a_number(config: dict[str, Any]) -> None:
    tune.report(0.5)


def continues(config: dict[str, Any]) -> None:
    """As in Ray's guide to checkpoints; ends its own process at the third epoch of the first attempt."""
    start = 0
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            start = json.loads((Path(folder) / "state.json").read_text())["epoch"] + 1
    for epoch in range(start, 4):
        if epoch == 3 and start == 0:
            raise RuntimeError("the first attempt ends here")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "state.json").write_text(json.dumps({"epoch": epoch}))
            (Path(folder) / "deep").mkdir()
            (Path(folder) / "deep" / "weights.bin").write_bytes(b"x" * 1000)
            tune.report({"score": float(epoch)}, checkpoint=Checkpoint.from_directory(folder))
    print("began at", start)


def continues_with_train(config: dict[str, Any]) -> None:
    checkpoint = train.get_checkpoint()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "state").write_text("new")
        train.report({"score": 0.5}, checkpoint=train.Checkpoint.from_directory(folder))
    print("found", checkpoint, (Path(train.get_checkpoint().path) / "state").read_text())


def looks_around(config: dict[str, Any]) -> None:
    import ray

    context = tune.get_context()
    assert context.get_trial_id() == "1_00000" and context.get_trial_name() == "tuned_1_00000"
    assert context.get_experiment_name() == "tuned" and Path(context.get_trial_dir()) == Path.cwd()
    assert (context.get_world_size(), context.get_world_rank(), context.get_local_rank()) == (1, 0, 0)
    assert context.get_trial_resources().required_resources["CPU"] == 1.0
    assert train.get_context().get_world_rank() == 0
    assert tune.get_checkpoint() is None and train.get_checkpoint() is None
    tune.report({"score": 1.0})
    assert not ray.is_initialized()


def asks_for_a_shard(config: dict[str, Any]) -> None:
    train.get_dataset_shard("train")
