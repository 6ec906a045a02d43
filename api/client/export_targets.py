"""A sweep to a file, a study, TensorBoard or MLflow, by the name of the format or of the file; cli."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from podium.api.client.client import Client
from podium.api.client.export_calls import TableFormat
from podium.sweep.values.errors import InvalidSpecError, Problem


class ExportFormat(StrEnum):
    """What `podium sweep export` writes."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"
    OPTUNA = "optuna"
    TENSORBOARD = "tensorboard"
    MLFLOW = "mlflow"


_BY_SUFFIX = {
    ".csv": ExportFormat.CSV,
    ".parquet": ExportFormat.PARQUET,
    ".jsonl": ExportFormat.JSONL,
    ".db": ExportFormat.OPTUNA,
    ".sqlite": ExportFormat.OPTUNA,
    ".sqlite3": ExportFormat.OPTUNA,
    ".journal": ExportFormat.OPTUNA,
    ".log": ExportFormat.OPTUNA,
}
_TABLES: dict[ExportFormat, TableFormat] = {
    ExportFormat.CSV: "csv",
    ExportFormat.PARQUET: "parquet",
    ExportFormat.JSONL: "jsonl",
}


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written where, and how to look at it."""

    sweep_id: int
    format: ExportFormat
    to: str
    trials: int
    look: str


def format_of(target: str, named: ExportFormat | None) -> ExportFormat:
    """The format that is named, or that the target's suffix or form says. Raises `InvalidSpecError`."""
    if named is not None:
        return named
    found = ExportFormat.OPTUNA if "://" in target else _BY_SUFFIX.get(Path(target).suffix.lower())
    if found is None:
        raise _wrong("--to", f"{target!r} does not say the format; add --format with one of {_formats()}")
    return found


def named(name: str) -> ExportFormat:
    """Raises `InvalidSpecError`."""
    if name not in [*ExportFormat]:
        raise _wrong("--format", f"there is no format {name!r}; write one of {_formats()}")
    return ExportFormat(name)


def _formats() -> str:
    return ", ".join(each.value for each in ExportFormat)


def _wrong(option: str, message: str) -> InvalidSpecError:
    return InvalidSpecError([Problem((option,), message)], "")


def export(
    client: Client, sweep_id: int, target: str, wanted: ExportFormat, name: str | None, filter: str | None = None
) -> Exported:
    """Write it: all trials, or those that a filter finds.

    `name` is the study's or the experiment's; the sweep's where it is None.
    """
    sweep = client.sweep(sweep_id)
    name = name or sweep["name"]
    if wanted in _TABLES:
        _check_folder(target)
        client.export(sweep_id, target, _TABLES[wanted], filter)
        return Exported(sweep_id, wanted, target, client.count_trials(sweep_id, filter), "")
    trials = list(client.exported_trials(sweep_id, filter=filter))
    look = _WRITERS[wanted](sweep, trials, target, name)
    return Exported(sweep_id, wanted, target, len(trials), look)


def _to_study(sweep: dict[str, Any], trials: list[dict[str, Any]], target: str, name: str) -> str:
    from podium.api.client import optuna_studies  # loads Optuna

    if "://" not in target:
        _check_folder(target)
    optuna_studies.write(sweep, trials, target, name)
    return f"optuna-dashboard {optuna_studies.shown(target)}"


def _to_tensorboard(sweep: dict[str, Any], trials: list[dict[str, Any]], target: str, _: str) -> str:
    from podium.api.client import tensorboard_export  # loads torch

    tensorboard_export.write(sweep, trials, Path(target))
    return f"tensorboard --logdir {target}"


def _to_mlflow(sweep: dict[str, Any], trials: list[dict[str, Any]], target: str, name: str) -> str:
    from podium.api.client import mlflow_export  # loads MLflow

    uri = mlflow_export.tracking_uri(target)
    mlflow_export.write(sweep, trials, uri, name)
    return f"mlflow ui --backend-store-uri {uri}" if "://" not in uri or uri.startswith("sqlite") else ""


_WRITERS = {
    ExportFormat.OPTUNA: _to_study,
    ExportFormat.TENSORBOARD: _to_tensorboard,
    ExportFormat.MLFLOW: _to_mlflow,
}


def _check_folder(target: str) -> None:
    folder = Path(target).absolute().parent
    if not folder.is_dir():
        raise _wrong("--to", f"there is no folder {folder}")
