"""Exports a sweep's trials as TensorBoard runs with hyperparameters, objectives and curves; CLI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from podium.sweep.values.errors import InvalidSpecError, MissingExtraError, Problem


def write(sweep: Mapping[str, Any], trials: Iterable[Mapping[str, Any]], folder: Path) -> None:
    """Write a folder for each trial to `folder`, which must be new or empty.

    The objectives of finished trials are named `objective/NAME`, since TensorBoard fills its hyperparameter table from
    the curve of that name, and the trial's curves keep their names. Raises `MissingExtraError`, and `InvalidSpecError`
    for a folder that is not empty.
    """
    try:
        from tensorboardX import FileWriter, summary
    except ImportError as error:
        raise MissingExtraError("TensorBoard's format", "tensorboard") from error
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidSpecError([Problem(("--to",), f"{folder} exists and is not empty; give a new folder")], "")
    objectives = [metric["name"] for metric in sweep["spec"].get("metrics") or [sweep["spec"]["metric"]]]
    for trial in trials:
        writer = FileWriter(str(folder / f"trial-{trial['number']:05d}"))
        try:
            _write_trial(writer, summary, trial, objectives)
        finally:
            writer.close()


def _write_trial(writer: Any, summary: Any, trial: Mapping[str, Any], objectives: list[str]) -> None:
    at = _seconds(trial["ended_at"] or trial["started_at"] or trial["created_at"])
    params = {n: v if isinstance(v, bool | int | float) else str(v) for n, v in trial["params"].items()}
    values = {f"objective/{name}": value for name, value in (trial["values"] or {}).items()}
    for part in summary.hparams(params, {f"objective/{name}": None for name in objectives}):
        writer.add_summary(part, walltime=at)
    for name, curve in trial["metrics"].items():
        for step, value in curve:
            writer.add_summary(summary.scalar(name, value), step, walltime=at)
    last = max((curve[-1][0] for curve in trial["metrics"].values() if curve), default=0)
    for name, value in values.items():
        writer.add_summary(summary.scalar(name, value), last, walltime=at)


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
