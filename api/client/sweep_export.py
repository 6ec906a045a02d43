"""Exports a sweep to a file, an Optuna study, TensorBoard or MLflow, by format name or file suffix; CLI."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from podium.api.client.client import Client
from podium.api.client.import_export_calls import TableFormat
from podium.api.client.sweep_responses import SweepInfo
from podium.api.client.trial_responses import ExportedTrial
from podium.sweep.values.errors import InvalidSpecError, Problem


class ExportFormat(StrEnum):
    """The formats of `podium sweep export`."""

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
class ExportResult:
    """What was exported where, and the command that shows it, if any."""

    sweep_id: int
    format: ExportFormat
    to: str
    trials: int
    viewer_command: str


def format_of(target: str, named: ExportFormat | None) -> ExportFormat:
    """The named format, or the one implied by the target's suffix or URL. Raises `InvalidSpecError`."""
    if named is not None:
        return named
    found = ExportFormat.OPTUNA if "://" in target else _BY_SUFFIX.get(Path(target).suffix.lower())
    if found is None:
        raise _invalid("--to", f"{target!r} implies no format; add --format with one of {_formats()}")
    return found


def format_named(name: str) -> ExportFormat:
    """The format of this name. Raises `InvalidSpecError`."""
    if name not in [*ExportFormat]:
        raise _invalid("--format", f"unknown format {name!r}; use one of {_formats()}")
    return ExportFormat(name)


def _formats() -> str:
    return ", ".join(each.value for each in ExportFormat)


def _invalid(option: str, message: str) -> InvalidSpecError:
    return InvalidSpecError([Problem((option,), message)], "")


def export(
    client: Client,
    sweep_id: int,
    target: str,
    wanted: ExportFormat,
    *,
    name: str | None = None,
    filter: str | None = None,
) -> ExportResult:
    """Export all trials, or those that match a filter.

    `name`: of the study or experiment; by default that of the sweep.
    """
    sweep = client.sweep(sweep_id)
    name = name or sweep["name"]
    if wanted in _TABLES:
        _check_folder(target)
        client.export(sweep_id, target, _TABLES[wanted], filter)
        return ExportResult(
            sweep_id=sweep_id, format=wanted, to=target, trials=client.count_trials(sweep_id, filter), viewer_command=""
        )
    trials = list(client.exported_trials(sweep_id, filter=filter))
    viewer_command = _WRITERS[wanted](sweep, trials, target, name)
    return ExportResult(sweep_id=sweep_id, format=wanted, to=target, trials=len(trials), viewer_command=viewer_command)


def _to_study(sweep: SweepInfo, trials: list[ExportedTrial], target: str, name: str) -> str:
    from podium.api.client import optuna_studies  # loads Optuna

    if "://" not in target:
        _check_folder(target)
    optuna_studies.write(sweep, trials, target, name)
    return f"optuna-dashboard {optuna_studies.storage_argument(target)}"


def _to_tensorboard(sweep: SweepInfo, trials: list[ExportedTrial], target: str, _: str) -> str:
    from podium.api.client import tensorboard_export  # loads torch

    tensorboard_export.write(sweep, trials, Path(target))
    return f"tensorboard --logdir {target}"


def _to_mlflow(sweep: SweepInfo, trials: list[ExportedTrial], target: str, name: str) -> str:
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
        raise _invalid("--to", f"there is no folder {folder}")
