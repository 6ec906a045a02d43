"""A sweep's trials as a pandas data frame; the user's process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from podium.sweep.values.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas

TIMES = ("created_at", "started_at", "ended_at")
_CHOSEN_BY = ("sampler", "fallback_reason", "fallback_error", "proposed_for")
_PEAKS = ("peak_memory_mb", "peak_gpu_memory_mb")
_LAST = (
    "cause", *_CHOSEN_BY, "attempts", "device", "devices", *_PEAKS, *TIMES, "duration_s", "running_s", "queued_s",
    "trial_id",
)  # fmt: skip
FIGURES = ("last", "min", "min_step", "max", "max_step", "non_finite")


def frame(spec: Mapping[str, Any], trials: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """One row per exported trial, times in UTC. Raises `MissingExtraError` without pandas."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("to_pandas", "pandas") from error
    rows = [_row(spec, trial) for trial in trials]
    made = pandas.DataFrame(rows, columns=_columns(spec, rows))
    for name in TIMES:
        made[name] = pandas.to_datetime(made[name], utc=True, format="ISO8601")
    return made.set_index("number", drop=False)


def _columns(spec: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """The column names in order: number, state, values, parameters, attributes and constraints, others."""
    params = [name for row in [_params(spec, {}), *rows] for name in row if name.startswith("params_")]
    notes = [name for row in rows for name in row if name.startswith(("user_attrs_", "constraints_"))]
    logged = sorted({name for row in rows for name in row if name.startswith("metrics_")})
    first = ["number", "state", *_values(spec, {}), *params, *sorted(notes, reverse=True)]
    return list(dict.fromkeys([*first, *_LAST[:-1], *logged, *_LAST[-1:]]))


def _row(spec: Mapping[str, Any], trial: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "number": trial["number"],
        "state": trial["state"],
        **_values(spec, trial["values"] or {}),
        **_params(spec, trial["params"]),
        **{f"user_attrs_{name}": value for name, value in trial["user_attrs"].items()},
        **{f"constraints_{name}": value for name, value in trial["constraints"].items()},
        **{name: trial[name] for name in _LAST},
        **{
            f"metrics_{name}_{figure}": summary[figure]
            for name, summary in trial["metric_summaries"].items()
            for figure in FIGURES
        },
    }


def _values(spec: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, float | None]:
    metrics = spec.get("metrics")
    if not metrics:
        return {"value": values.get(spec["metric"]["name"])}
    return {f"values_{metric['name']}": values.get(metric["name"]) for metric in metrics}


def _params(spec: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    return {f"params_{name}": params.get(name) for name in {**spec.get("parameters", {}), **params}}
