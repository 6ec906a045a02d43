"""Exports a sweep as an MLflow run with one child run per trial; CLI."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from podium.sweep.values.errors import MissingExtraError, PodiumError

Item = TypeVar("Item")
MAX_METRICS_PER_BATCH, MAX_PARAMS_PER_BATCH = 1_000, 100  # MLflow's limits per request
MAX_CHARACTERS = 6_000  # of a parameter value
_STATUS = {"finished": "FINISHED", "pruned": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}
_UNUSUAL = re.compile(r"[^\w.\- /]")


def tracking_uri(target: str) -> str:
    """The URI of an SQLite file or a folder; a URI is returned unchanged."""
    if "://" in target or target.startswith("file:"):
        return target
    path = Path(target).absolute()
    return f"sqlite:///{path}" if path.suffix in (".db", ".sqlite", ".sqlite3") else f"file:{path}"


def write(sweep: Mapping[str, Any], trials: Iterable[Mapping[str, Any]], uri: str, experiment: str) -> None:
    """Write one run for the sweep to the experiment of that name, with a child run for each trial.

    Raises `MissingExtraError`, and `PodiumError` with MLflow's message if it refuses.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # the user gave a folder
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from packages that MLflow uses
        try:
            from mlflow import MlflowClient
            from mlflow.exceptions import MlflowException
        except ImportError as error:
            raise MissingExtraError("MLflow", "mlflow") from error
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        logging.getLogger("alembic").setLevel(logging.WARNING)
        try:
            _write(MlflowClient(uri), sweep, trials, experiment)
        except MlflowException as error:
            raise PodiumError(f"MLflow at {uri} refused: {str(error).splitlines()[0]}") from error


def _write(client: Any, sweep: Mapping[str, Any], trials: Iterable[Mapping[str, Any]], experiment: str) -> None:
    known = client.get_experiment_by_name(experiment)
    experiment_id = client.create_experiment(experiment) if known is None else known.experiment_id
    tags = {"podium.sweep_id": str(sweep["id"]), "podium.state": sweep["state"]}
    if (commit := sweep["provenance"]["git_commit"]) is not None:
        tags["mlflow.source.git.commit"] = commit
    tags |= {f"podium.{name}": str(sweep[name]) for name in ("project", "owner") if sweep[name]}
    tags |= {_name(f"podium.tag.{tag}"): "true" for tag in sweep["tags"]}
    if sweep["description"]:
        tags["mlflow.note.content"] = sweep["description"][:MAX_CHARACTERS]
    started = _milliseconds(sweep["started_at"] or sweep["created_at"])
    parent = client.create_run(experiment_id, started, tags, f"sweep {sweep['id']}: {sweep['name']}").info.run_id
    for trial in trials:
        _write_trial(client, experiment_id, parent, trial)
    if (best := sweep["best"]) is not None:
        values = best["values"] or {_first(sweep): best["value"]}
        _log(client, parent, [], list(_values(values, sweep["ended_at"])))
    if sweep["ended_at"] is not None:
        client.set_terminated(parent, _STATUS[sweep["state"]], _milliseconds(sweep["ended_at"]))


def _first(sweep: Mapping[str, Any]) -> str:
    name: str = (sweep["spec"].get("metrics") or [sweep["spec"]["metric"]])[0]["name"]
    return name


def _write_trial(client: Any, experiment_id: str, parent: str, trial: Mapping[str, Any]) -> None:
    tags = {
        "mlflow.parentRunId": parent,
        "podium.number": str(trial["number"]),
        "podium.state": trial["state"],
        **{f"podium.{name}": str(trial[name]) for name in ("cause", "message", "device") if trial[name] is not None},
        **{_name(f"podium.user_attrs.{name}"): str(value) for name, value in trial["user_attrs"].items()},
        **{
            _name(f"podium.non_finite.{name}"): str(each["non_finite"])
            for name, each in (trial.get("metric_summaries") or {}).items()
            if each["non_finite"]
        },
    }
    started = _milliseconds(trial["started_at"] or trial["created_at"])
    run = client.create_run(experiment_id, started, tags, f"trial {trial['number']}").info.run_id
    _log(client, run, _params(trial), [*_points(trial, started), *_results(trial)])
    if trial["ended_at"] is not None:
        client.set_terminated(run, _STATUS[trial["state"]], _milliseconds(trial["ended_at"]))


def _params(trial: Mapping[str, Any]) -> list[Any]:
    from mlflow.entities import Param

    return [Param(_name(name), str(value)[:MAX_CHARACTERS]) for name, value in trial["params"].items()]


def _points(trial: Mapping[str, Any], started: int) -> Iterator[Any]:
    from mlflow.entities import Metric

    for name, curve in trial["metrics"].items():
        for step, value in curve:
            yield Metric(_name(name), value, started, step)
    for name, marks in (trial.get("non_finite") or {}).items():
        for step, value in marks:
            yield Metric(_name(name), float(value), started, step)


def _results(trial: Mapping[str, Any]) -> Iterator[Any]:
    """The objectives of a trial, and its peaks of memory under MLflow's prefix of system metrics."""
    from mlflow.entities import Metric

    yield from _values(trial["values"] or {}, trial["ended_at"])
    ended = 0 if trial["ended_at"] is None else _milliseconds(trial["ended_at"])
    for name in ("peak_memory_mb", "peak_gpu_memory_mb"):
        if trial[name] is not None:
            yield Metric(f"system/{name}", trial[name], ended, 0)


def _values(values: Mapping[str, float], ended_at: str | None) -> Iterator[Any]:
    """The objectives of a trial, separate from its curves."""
    from mlflow.entities import Metric

    for name, value in values.items():
        yield Metric(_name(f"objective/{name}"), value, 0 if ended_at is None else _milliseconds(ended_at), 0)


def _log(client: Any, run: str, params: Sequence[Any], metrics: Sequence[Any]) -> None:
    """Log in as few requests as possible: usually one."""
    if 0 < len(params) + len(metrics) <= MAX_METRICS_PER_BATCH and len(params) <= MAX_PARAMS_PER_BATCH:
        client.log_batch(run, metrics=metrics, params=params)
        return
    for batch in _batches(params, MAX_PARAMS_PER_BATCH):
        client.log_batch(run, params=batch)
    for batch in _batches(metrics, MAX_METRICS_PER_BATCH):
        client.log_batch(run, metrics=batch)


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


def _name(name: str) -> str:
    """A valid MLflow name: letters, digits, `.`, `-`, `/`, space and underscore."""
    return _UNUSUAL.sub("_", name)[:250]


def _milliseconds(at: str) -> int:
    return round(1000 * datetime.fromisoformat(at).timestamp())
