"""Names of Optuna, Ray Tune and W&B for the keys and values of a sweep file, for hints; CLI and api process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from podium.sweep.spec.search_method_registry import METHODS

TOP_LEVEL_KEYS: Mapping[str, str] = {
    "run_cap": "n_trials num_trials max_trials num_samples max_evals trials count iterations",
    "metric.goal": "direction mode goal",
    "metrics": "directions objectives",
    "method": "sampler search_alg algorithm algo strategy",
    "early_terminate": "pruner scheduler early_stopping pruning",
    "parameters": "params param_space search_space space hyperparameters config",
    "program.function": "function trainable func",
    "program.data": "data dataset",
    "program.model": "model",
    "budget.wall_s": "timeout time_budget_s max_time",
    "resources.device": "device accelerator gpu gpus",
    "resources.devices": "nproc_per_node nproc gpus_per_trial num_workers",
    "resources.max_concurrent": "n_jobs max_concurrent max_concurrent_trials parallel",
    "resources.threads": "cpus threads",
    "validation.split": "split",
    "validation.folds": "folds cv",
    "limits.trial_s": "trial_timeout trial_s",
    "name": "study_name title",
    "seed": "random_state random_seed",
    "enqueue": "points_to_evaluate initial_points",
}
BLOCK_KEYS: Mapping[str, Mapping[str, str]] = {
    "parameters": {
        "min": "low lower minimum",
        "max": "high upper maximum",
        "values": "choices categories options choice grid",
        "distribution": "type dist",
        "step": "increment",
        "when": "condition conditions parent",
    },
    "metric": {"goal": "direction mode objective"},
    "metrics": {"goal": "direction mode objective"},
    "early_terminate": {
        "type": "name algorithm",
        "eta": "reduction_factor",
        "min_iter": "grace_period min_resource n_warmup_steps min_epochs",
        "max_iter": "max_t max_resource",
        "min_trials": "n_min_trials n_startup_trials min_samples_required",
    },
    "program": {
        "function": "objective trainable func callable",
        "data": "dataset",
        "command": "args arguments",
        "model": "network",
    },
    "resources": {
        "device": "gpu gpus accelerator",
        "devices": "num_gpus nproc_per_node nproc",
        "threads": "cpu cpus num_cpus",
    },
    "ensemble": {"k": "size n members n_members", "combine": "method rule voting", "select": "strategy"},
}
VALUES: Mapping[str, str] = {
    **{name: " ".join(method.aliases).casefold() for name, method in METHODS.items()},
    "maximize": "max maximise maximum higher up",
    "minimize": "min minimise minimum lower down",
    "gpu": "cuda cuda:0 nvidia",
    "asha": "successive_halving successivehalvingpruner ashascheduler async_hyperband",
    "median": "medianpruner medianstoppingrule",
    "hyperband": "hyperbandpruner",
    "wilcoxon": "wilcoxonpruner",
    "log_uniform_values": "loguniform lograndint reciprocal",
    "int_uniform": "randint int integer",
    "uniform": "float",
    "categorical": "choice",
    "q_uniform": "quniform qrandint",
    "q_log_uniform_values": "qloguniform qlograndint",
    "normal": "randn gaussian",
    "q_normal": "qrandn",
    "log_normal": "lognormal",
}  # "loguniform" of Optuna and Ray takes values, like W&B's log_uniform_values, not exponents


def podium_key(location: Sequence[str]) -> str | None:
    """The key that corresponds to another tool's key at this location, or None."""
    *path, key = location
    table = TOP_LEVEL_KEYS if not path else BLOCK_KEYS.get(path[0], {})
    return next(_of(key.casefold(), table), None)


def podium_value(given: object, known: Collection[str]) -> str | None:
    """The one of the `known` values that corresponds to another tool's value `given`, or None."""
    words = _of(given.casefold(), VALUES) if isinstance(given, str) else iter(())
    return next((word for word in words if word in known), None)


def _of(other: str, table: Mapping[str, str]) -> Iterator[str]:
    return (ours for ours, theirs in table.items() if other in theirs.split())
