"""Functions of Ray Tune's function API, as in its tutorials."""

import json
import tempfile
from pathlib import Path

from ray import tune


def loss_after(iteration, config):
    return 1 / (1 + config["lr"] * (iteration + 1)) + 0.1 * (config["layers"] - 2) ** 2


def train(config):
    for iteration in range(4):
        loss = loss_after(iteration, config)
        tune.report({"loss": loss, "accuracy": 1 - loss})


def train_with_checkpoints(config):
    start = 0
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            start = json.loads((Path(folder) / "state.json").read_text())["iteration"] + 1
    for iteration in range(start, 4):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "state.json").write_text(json.dumps({"iteration": iteration}))
            tune.report({"loss": loss_after(iteration, config)}, checkpoint=tune.Checkpoint.from_directory(folder))
        if start == 0 and iteration == 1:
            raise RuntimeError("the machine failed")


if __name__ == "__main__":
    tuner = tune.Tuner(
        train,
        param_space={"lr": tune.loguniform(0.1, 10), "layers": tune.choice([1, 2, 3])},
        tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=6),
    )
    print(tuner.fit().get_best_result().config)
