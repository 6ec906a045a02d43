"""How the script of a W&B sweep file says its metric, now that `wandb.log` goes elsewhere; cli."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sweep.errors import InvalidSpecError

METRICS_FILE = "PODIUM_METRICS"
_MAX_READ = 1 << 20
_MAX_FILES = 2_000
_LEFT_OUT = ("__pycache__", "node_modules", "venv", "wandb")
_CODE = (".py", ".sh", ".jl", ".r", ".R")


def metrics_of(plain: Mapping[str, Any], folder: Path | None, notes: list[str]) -> Any:
    """`program.metrics`: by which patterns the metric is found in what the script prints.

    `wandb.log` goes to W&B, not here. So either the file says by `metrics` where the metric stands in what is printed,
    or the script writes JSON lines to the file named in PODIUM_METRICS. Raises `InvalidSpecError` where neither is so.
    """
    metrics = plain.get("metrics")
    name = _metric_name(plain)
    if metrics is not None and not isinstance(metrics, dict):
        words = f"a mapping of names to patterns: {{{name}: '{_pattern(name)}'}}"
        raise InvalidSpecError.at(("metrics",), words)
    if metrics is not None and (name in metrics or not metrics):
        return metrics
    if folder is None or names_metrics_file(folder):
        notes.append(f"metric: {name} is read from the JSON lines that the script writes to the file in {METRICS_FILE}")
        return metrics or {}
    if metrics and (close := difflib.get_close_matches(name, list(metrics), n=1, cutoff=0.5)):
        words = f"no pattern in metrics is for {name!r}; did you mean {close[0]!r}?"
        raise InvalidSpecError.at(("metric", "name"), words)
    raise InvalidSpecError.at(("metric",), _how_to_say(name))


def names_metrics_file(folder: Path) -> bool:
    """Whether any code in a folder speaks of the file to which metrics can be written."""
    return any(METRICS_FILE in text for text in _texts(folder))


def _how_to_say(name: str) -> str:
    line = f'{{"step": 1, "{name}": 0.5}}'
    return (
        f"nothing says {name!r}: Podium does not see what `wandb.log` sends. If the script prints it, add this line to "
        f"the file: metrics: {{{name}: '{_pattern(name)}'}}; if not, let the script append lines like {line} to the "
        f"file that the environment variable {METRICS_FILE} names"
    )


def _metric_name(plain: Mapping[str, Any]) -> str:
    metric = plain.get("metric")
    return str(metric.get("name", "val_loss")) if isinstance(metric, dict) else "val_loss"


def _pattern(name: str) -> str:
    return f"{re.escape(name)}[=: ]+([-+.0-9eE]+)"


def _texts(folder: Path) -> Iterator[str]:
    """The code beside the file."""
    found = 0
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for file in (Path(root, name) for name in sorted(files) if name.endswith(_CODE)):
            found += 1
            if found > _MAX_FILES:
                return
            try:
                if file.stat().st_size <= _MAX_READ:
                    yield file.read_text(errors="replace")
            except OSError:
                continue
