"""Ray Tune on Fashion-MNIST for a number of seconds, as its documentation runs it; prints one JSON line.

`python -m benchmarks.ray_tune_fashion DATA SECONDS SEED`. Two trials at a time with one CPU each, `OptunaSearch` with
its default sampler (TPE), `ASHAScheduler`, a function with `tune.report`; default loggers. The time starts with
`Tuner.fit`: Ray is already running. The Ray dashboard is off.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search.optuna import OptunaSearch

from benchmarks.programs import fashion


def objective(config: dict[str, Any]) -> None:
    """A trial as a function."""
    fashion.train(config, lambda accuracy, epoch: tune.report({"val_accuracy": accuracy, "epoch": epoch}))


def fit(data: str, seconds: float, seed: int) -> dict[str, float]:
    """The number of trials done, and the best reported validation accuracy."""
    space = {
        "data": data,
        "lr": tune.loguniform(1e-4, 1.0),
        "momentum": tune.uniform(0.0, 0.95),
        "hidden": tune.choice([32, 64, 128, 256]),
        "dropout": tune.uniform(0.0, 0.5),
        "batch_size": tune.choice([64, 128, 256]),
    }
    with tempfile.TemporaryDirectory(prefix="ray-bench-") as folder:
        tuner = tune.Tuner(
            tune.with_resources(objective, {"cpu": 1}),
            param_space=space,
            tune_config=tune.TuneConfig(
                metric="val_accuracy",
                mode="max",
                num_samples=-1,
                time_budget_s=seconds,
                max_concurrent_trials=2,
                search_alg=OptunaSearch(seed=seed),
                scheduler=ASHAScheduler(max_t=fashion.EPOCHS, grace_period=1, reduction_factor=3),
            ),
            run_config=tune.RunConfig(storage_path=folder, name="fashion"),
        )
        found = tuner.fit()
        reports = [result.metrics_dataframe for result in found]
    if found.num_errors:
        raise RuntimeError(f"{found.num_errors} trials failed")
    accuracies = [frame["val_accuracy"].max() for frame in reports if frame is not None and "val_accuracy" in frame]
    return {"trials": len(accuracies), "best": float(max(accuracies, default=0.0))}


def main() -> None:
    """See the module."""
    data, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    ray.init(num_cpus=2, include_dashboard=False)
    found = fit(data, seconds, seed)
    ray.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
