"""Ray Tune's population-based training for a number of seconds, as its documentation runs it; prints one JSON line.

`python -m benchmarks.ray_tune_population DATA SECONDS SEED`. `PopulationBasedTraining` with the settings of row 21, two
trials at a time with one CPU each, a function with `tune.report` and a checkpoint in each report; default loggers. The
time starts with `Tuner.fit`: Ray is already running. The Ray dashboard is off. One report is one interval.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from ray import tune
from ray.tune.schedulers import PopulationBasedTraining

from benchmarks.programs import population


def objective(config: dict[str, Any]) -> None:
    """A trial as a function."""
    network, done = population.Network(config, config["seed"]), 0
    if (checkpoint := tune.get_checkpoint()) is not None:
        with checkpoint.as_directory() as folder:
            state = torch.load(Path(folder, "state.pt"))
        network.model.load_state_dict(state["model"])
        own = [dict(group) for group in network.optimizer.param_groups]
        network.optimizer.load_state_dict(state["optimizer"])
        for group, mine in zip(network.optimizer.param_groups, own, strict=True):
            group.update({name: value for name, value in mine.items() if name != "params"})
        done = state["interval"]
    while True:
        for _ in range(population.STEPS):
            network.train_pass()
        done += 1
        with tempfile.TemporaryDirectory() as folder:
            state = {"model": network.model.state_dict(), "optimizer": network.optimizer.state_dict(), "interval": done}
            torch.save(state, Path(folder, "state.pt"))
            tune.report({"loss": network.loss(), "interval": done}, checkpoint=tune.Checkpoint.from_directory(folder))


def fit(data: str, seconds: float, seed: int) -> dict[str, float]:
    """The number of intervals done, and the lowest validation loss at the end of one."""
    space = {
        "lr": tune.loguniform(1e-4, 1.0),
        "momentum": tune.uniform(0.0, 0.95),
        "weight_decay": tune.loguniform(1e-6, 1e-2),
    }
    scheduler = PopulationBasedTraining(
        perturbation_interval=1,
        hyperparam_mutations=space,
        quantile_fraction=population.QUANTILE,
        resample_probability=population.RESAMPLE,
        perturbation_factors=population.PERTURB,
    )
    random.seed(seed)
    np.random.seed(seed)
    with tempfile.TemporaryDirectory(prefix="ray-bench-") as folder:
        tuner = tune.Tuner(
            tune.with_resources(objective, {"cpu": 1}),
            param_space={**space, "data": data, "seed": tune.randint(0, 2**31)},
            tune_config=tune.TuneConfig(
                metric="loss",
                mode="min",
                num_samples=population.POPULATION,
                time_budget_s=seconds,
                scheduler=scheduler,
            ),
            run_config=tune.RunConfig(storage_path=folder, name="population"),
        )
        found = tuner.fit()
        frames = [result.metrics_dataframe for result in found]
    if found.num_errors:
        raise RuntimeError(f"{found.num_errors} trials failed")
    losses = [frame["loss"] for frame in frames if frame is not None and "loss" in frame]
    return {"intervals": sum(map(len, losses)), "best": float(min(loss.min() for loss in losses))}


def main() -> None:
    """See the module."""
    data, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    ray.init(num_cpus=2, include_dashboard=False)
    found = fit(data, seconds, seed)
    ray.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
