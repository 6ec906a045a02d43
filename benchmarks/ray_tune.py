"""Ray Tune on trivial trials, as its documentation runs them; a process of its own that prints one JSON line.

`python -m benchmarks.ray_tune fresh|reused TRIALS SEED [gpu]`. Two trials at a time with one CPU each (with `gpu`: one
at a time with the GPU), `OptunaSearch` with
its default sampler (TPE), default loggers, results in a temporary folder on disk. Only `Tuner.fit` is timed: Ray is
already running.

`fresh`: a function, and a new actor for each trial (`reuse_actors=False`). `reused`: a class with `reset_config`, and
two actors for all trials. The Ray dashboard is off, and so is the checkpoint that Tune saves at the end of each trial
of a class: both favor Tune.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch

SPACE = {name: tune.uniform(-1.0, 1.0) for name in "xyz"}


def score(config: dict[str, float]) -> float:
    """What `programs/trivial.py` computes, or `programs/gpu_trials.py` where the trial has a GPU."""
    import torch  # imported in the trial, as there

    if torch.cuda.is_available():
        return float((torch.tensor([config[name] for name in "xyz"], device="cuda") ** 2).sum())
    return float((torch.zeros(3) + 1).sum()) + sum(config[name] ** 2 for name in "xyz")


def objective(config: dict[str, float]) -> None:
    """A trial as a function."""
    tune.report({"score": score(config)})


class Objective(tune.Trainable):  # type: ignore[misc]
    """A trial as a class whose actor is reused for the next trial."""

    def setup(self, config: dict[str, float]) -> None:
        self._config = config

    def step(self) -> dict[str, Any]:
        return {"score": score(self._config), "done": True}

    def reset_config(self, new_config: dict[str, float]) -> bool:
        self._config = new_config
        return True


def fit(kind: str, trials: int, seed: int, *, gpu: bool = False) -> float:
    """The duration of `Tuner.fit` in seconds. Raises `RuntimeError` unless every trial finished."""
    trainable = Objective if kind == "reused" else objective  # one CPU each is Tune's default
    with tempfile.TemporaryDirectory(prefix="ray-bench-") as folder:
        tuner = tune.Tuner(
            tune.with_resources(trainable, {"cpu": 1, "gpu": 1}) if gpu else trainable,
            param_space=SPACE,
            tune_config=tune.TuneConfig(
                metric="score",
                mode="min",
                num_samples=trials,
                max_concurrent_trials=1 if gpu else 2,
                search_alg=OptunaSearch(seed=seed),
                reuse_actors=kind == "reused",
            ),
            run_config=tune.RunConfig(
                storage_path=folder,
                name="trivial",
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            ),
        )
        began = time.perf_counter()
        found = tuner.fit()
        took_s = time.perf_counter() - began
    if found.num_errors or found.num_terminated != trials:
        raise RuntimeError(f"{found.num_terminated} of {trials} trials finished, {found.num_errors} failed")
    return took_s


def main() -> None:
    """See the module."""
    kind, trials, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    gpu = "gpu" in sys.argv[4:]
    ray.init(num_cpus=2, num_gpus=1 if gpu else 0, include_dashboard=False)
    took_s = fit(kind, trials, seed, gpu=gpu)
    ray.shutdown()
    print(json.dumps({"trials": trials, "took_s": took_s}))


if __name__ == "__main__":
    main()
