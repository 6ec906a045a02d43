"""Writes the trials of a sweep as CSV, Parquet or JSON lines, chunk by chunk; no I/O, api."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from podium.api.rest.schemas.base_schema import time_of
from podium.api.rest.schemas.population_schemas import IntervalView
from podium.db.queries.exports import ExportedTrial, ExportSchema, Kind
from podium.db.stores.metric_summaries import Figure, MetricSummary
from podium.sweep.values.errors import MissingExtraError
from podium.sweep.values.megabytes import megabytes

if TYPE_CHECKING:
    import pyarrow

FIGURES: dict[Figure, Kind] = {
    Figure.LAST: Kind.NUMBER,
    Figure.MIN: Kind.NUMBER,
    Figure.MIN_STEP: Kind.INTEGER,
    Figure.MAX: Kind.NUMBER,
    Figure.MAX_STEP: Kind.INTEGER,
    Figure.NON_FINITE: Kind.INTEGER,
}
Chunks = Iterable[list[ExportedTrial]]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # prefixes of a formula in a spreadsheet


def as_json_lines(shape: ExportSchema, chunks: Chunks) -> Iterator[bytes]:
    """One JSON object per line: a trial with its parameters, values and curves by name."""
    for trials in chunks:
        for trial in trials:
            yield (json.dumps(record(shape, trial)) + "\n").encode()


def record(shape: ExportSchema, trial: ExportedTrial) -> dict[str, Any]:
    """A trial as plain JSON values."""
    row = trial.row
    return {
        "number": row.number,
        "trial_id": row.id,
        "state": row.state.value,
        "values": _values(shape, trial),
        "params": row.params,
        "distributions": trial.distributions,
        "user_attrs": row.user_attrs,
        "constraints": row.constraints,
        "metrics": trial.curves,
        "non_finite": trial.non_finite,
        "metric_summaries": {each.name: _summary(each) for each in trial.summaries},
        "artifacts": [
            {"name": file.name, "size_bytes": file.size_bytes, "sha256": file.sha256} for file in trial.artifacts
        ],
        "intervals": [IntervalView.of(interval).model_dump(mode="json") for interval in trial.intervals],
        "cause": trial.cause,
        "message": trial.message,
        "sampler": row.sampler,
        "fallback_reason": row.fallback_reason,
        "fallback_error": row.fallback_error,
        "proposed_for": row.proposed_for,
        "attempts": row.attempt,
        "device": row.device_id,
        "devices": _devices(trial),
        "peak_memory_mb": megabytes(row.peak_memory_bytes),
        "peak_gpu_memory_mb": megabytes(row.peak_gpu_memory_bytes),
        **{name: None if at is None else at.isoformat() for name, at in _times(trial).items()},
        "duration_s": _duration_s(trial),
        "running_s": trial.running_s,
        "queued_s": trial.queued_s,
    }


def _summary(summary: MetricSummary) -> dict[str, Any]:
    return {name: value for name, value in asdict(summary).items() if name != "name"}


def as_csv(shape: ExportSchema, chunks: Chunks) -> Iterator[bytes]:
    """A table. Strings that a spreadsheet would evaluate as a formula are prefixed with an apostrophe."""
    kinds = columns(shape)
    yield _csv([[escape_formula(name) for name in kinds]])
    for trials in chunks:
        yield _csv([[_cell(cells[name]) for name in kinds] for cells in (_cells(shape, t) for t in trials)])


def as_parquet(shape: ExportSchema, chunks: Chunks) -> Iterator[bytes]:
    """A table with typed columns, one row group per chunk. Raises `MissingExtraError`."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet") from error
    return _parquet(pyarrow, parquet, shape, chunks)


def _parquet(arrow: Any, parquet: Any, shape: ExportSchema, chunks: Chunks) -> Iterator[bytes]:
    kinds = columns(shape)
    schema = arrow.schema([(name, _arrow_type(arrow, kind)) for name, kind in kinds.items()])
    out = _DrainableFile()
    with parquet.ParquetWriter(out, schema) as writer:
        for trials in chunks:
            rows = [_cells(shape, trial) for trial in trials]
            arrays = [
                arrow.array([typed_value(row[name], kind) for row in rows], schema.field(name).type)
                for name, kind in kinds.items()
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            yield out.drain()
    yield out.drain()


class _DrainableFile(io.RawIOBase):
    """A file in memory whose content is removed as it is written."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._written.append(bytes(content))
        return len(self._written[-1])

    def drain(self) -> bytes:
        content = b"".join(self._written)
        self._written.clear()
        return content


@dataclass(frozen=True, slots=True)
class FileFormat:
    """An export format: how to write it, its media type and its file suffix."""

    write: Callable[[ExportSchema, Chunks], Iterator[bytes]]
    media_type: str
    suffix: str


CSV = FileFormat(as_csv, "text/csv; charset=utf-8", "csv")
PARQUET = FileFormat(as_parquet, "application/vnd.apache.parquet", "parquet")
JSON_LINES = FileFormat(as_json_lines, "application/x-ndjson", "jsonl")

# Columns.


def columns(shape: ExportSchema) -> dict[str, Kind | str]:
    """The columns of a table, in order; the kind of timestamps is `time`."""
    kinds: dict[str, Kind | str] = {"number": Kind.INTEGER, "state": Kind.TEXT}
    kinds |= dict.fromkeys(_value_columns(shape), Kind.NUMBER)
    kinds |= {f"params_{name}": kind for name, kind in shape.params.items()}
    kinds |= {f"user_attrs_{name}": kind for name, kind in shape.user_attrs.items()}
    kinds |= {f"constraints_{name}": Kind.NUMBER for name in shape.constraints}
    kinds |= dict.fromkeys(("cause", "sampler", "fallback_reason", "fallback_error"), Kind.TEXT)
    kinds |= {"proposed_for": Kind.INTEGER, "attempts": Kind.INTEGER, "device": Kind.TEXT, "devices": Kind.JSON}
    kinds |= dict.fromkeys(("peak_memory_mb", "peak_gpu_memory_mb"), Kind.NUMBER)
    kinds |= dict.fromkeys(("created_at", "started_at", "ended_at"), "time")
    kinds |= dict.fromkeys(("duration_s", "running_s", "queued_s"), Kind.NUMBER)
    for name in shape.metrics:
        kinds |= {metric_column(figure, name): kind for figure, kind in FIGURES.items()}
    return kinds | {"trial_id": Kind.INTEGER}


def metric_column(figure: Figure, name: str) -> str:
    """The column of a figure of a metric: `metrics_val_loss_min`."""
    return f"metrics_{name}_{figure}"


def _value_columns(shape: ExportSchema) -> list[str]:
    return ["value"] if len(shape.objectives) == 1 else [f"values_{name}" for name in shape.objectives]


def _cells(shape: ExportSchema, trial: ExportedTrial) -> dict[str, Any]:
    row = trial.row
    values = _values(shape, trial) or dict.fromkeys(shape.objectives)
    return {
        "number": row.number,
        "state": row.state.value,
        **dict(zip(_value_columns(shape), values.values(), strict=True)),
        **{f"params_{name}": _in_column(row.params.get(name), kind) for name, kind in shape.params.items()},
        **{f"user_attrs_{name}": _in_column(row.user_attrs.get(name), kind) for name, kind in shape.user_attrs.items()},
        **{f"constraints_{name}": row.constraints.get(name) for name in shape.constraints},
        "cause": trial.cause,
        "sampler": row.sampler,
        "fallback_reason": row.fallback_reason,
        "fallback_error": row.fallback_error,
        "proposed_for": row.proposed_for,
        "attempts": row.attempt,
        "device": row.device_id,
        "devices": _in_column(_devices(trial) or None, Kind.JSON),
        "peak_memory_mb": megabytes(row.peak_memory_bytes),
        "peak_gpu_memory_mb": megabytes(row.peak_gpu_memory_bytes),
        **_times(trial),
        "duration_s": _duration_s(trial),
        "running_s": trial.running_s,
        "queued_s": trial.queued_s,
        **_figures(shape, trial),
        "trial_id": row.id,
    }


def _figures(shape: ExportSchema, trial: ExportedTrial) -> dict[str, Any]:
    """The figures of all metrics; empty for metrics that the trial has not logged."""
    found = {each.name: each for each in trial.summaries}
    return {
        metric_column(figure, name): getattr(found[name], figure) if name in found else None
        for name in shape.metrics
        for figure in FIGURES
    }


def _values(shape: ExportSchema, trial: ExportedTrial) -> dict[str, float] | None:
    """The objective values of a finished trial, by metric."""
    if trial.row.values is not None:
        return trial.row.values
    return None if trial.row.value is None else {shape.objectives[0]: trial.row.value}


def _devices(trial: ExportedTrial) -> list[str]:
    """The devices of the last attempt, in the order of ranks."""
    return list(trial.devices) or ([] if trial.row.device_id is None else [trial.row.device_id])


def _times(trial: ExportedTrial) -> dict[str, datetime | None]:
    return {name: time_of(getattr(trial.row, name)) for name in ("created_at", "started_at", "ended_at")}


def _duration_s(trial: ExportedTrial) -> float | None:
    started, ended = trial.row.started_at, trial.row.ended_at
    return None if started is None or ended is None else ended - started


def _in_column(value: Any, kind: Kind) -> Any:
    """The value as stored in its column: a JSON string if the column has mixed types."""
    return json.dumps(value, ensure_ascii=False) if kind is Kind.JSON and value is not None else value


# CSV.


def _csv(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode(errors="replace")


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return escape_formula(value) if isinstance(value, str) else value


def escape_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


# Parquet.


def _arrow_type(arrow: Any, kind: Kind | str) -> pyarrow.DataType:
    types: Mapping[str, Any] = {
        Kind.INTEGER: arrow.int64(),
        Kind.NUMBER: arrow.float64(),
        Kind.BOOLEAN: arrow.bool_(),
        "time": arrow.timestamp("us", "UTC"),
    }
    return types.get(kind, arrow.string())


def typed_value(value: Any, kind: Kind | str) -> Any:
    """The value in its column's type; None for a later value of another type than the column was created with."""
    if value is None:
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63 and kind in (Kind.NUMBER, Kind.INTEGER):
        return None
    if kind is Kind.NUMBER:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if kind in (Kind.TEXT, Kind.JSON):
        return str(value).encode(errors="replace").decode()
    expected = {Kind.INTEGER: int, Kind.BOOLEAN: bool, "time": datetime}[kind]
    return value if type(value) is expected or expected is datetime else None
