"""Determines how the script of a W&B sweep reports its metric: `wandb.log`, a file or its output; CLI and api."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from podium.sweep.values.errors import InvalidSpecError

METRICS_FILE = "PODIUM_METRICS"
# An import of wandb, a logger class of another library, or an option such as report_to="wandb".
_WANDB = re.compile(
    r"""^[^#\n]*(?:\bimport\s[^#\n]*\bwandb\b|\bfrom\s+wandb\b|\bWandb[A-Z]\w*|["']wandb["'])""", re.MULTILINE
)
_MAX_READ = 1 << 20
_MAX_FILES = 2_000
_LEFT_OUT = ("__pycache__", "node_modules", "venv", "wandb")
_CODE = (".py", ".sh", ".jl", ".r", ".R")


def metrics_of(plain: Mapping[str, Any], folder: Path | None, notes: list[str]) -> Any:
    """`program.metrics`, the patterns for the script's output.

    Podium records what `wandb.log` logs. A script without wandb prints the metric, for which `metrics` has a pattern,
    or appends JSON lines to the file named by PODIUM_METRICS. Raises `InvalidSpecError` if it does none of these.
    """
    metrics = plain.get("metrics")
    name = _metric_name(plain)
    if metrics is not None and not isinstance(metrics, dict):
        words = f"must be a mapping of metric names to patterns, such as {{{_key(name)}: auto}}"
        raise InvalidSpecError.at(("metrics",), words)
    if metrics is not None and (name in metrics or not metrics):
        return metrics
    if folder is not None and uses_wandb(folder):
        notes.append(
            f"metric: {name} is read from wandb.log in the script; the run is offline unless WANDB_MODE is set"
        )
        return metrics or {}
    if folder is None or names_metrics_file(folder):
        notes.append(f"metric: {name} is read from the JSON lines that the script writes to the file {METRICS_FILE}")
        return metrics or {}
    if metrics and (close := difflib.get_close_matches(name, list(metrics), n=1, cutoff=0.5)):
        words = f"metrics has no pattern for {name!r}; did you mean {close[0]!r}?"
        raise InvalidSpecError.at(("metric", "name"), words)
    raise InvalidSpecError.at(("metric",), _how_to_report(name))


def names_metrics_file(folder: Path) -> bool:
    """Whether code in a folder uses the environment variable of the metrics file."""
    return any(METRICS_FILE in text for text in _texts(folder))


def uses_wandb(folder: Path) -> bool:
    """Whether code in a folder uses wandb, directly or through another library's logger."""
    return any(_WANDB.search(text) for text in _texts(folder))


def _how_to_report(name: str) -> str:
    line = f'{{"step": 1, "{name}": 0.5}}'
    return (
        f"{name!r} is not reported: the code does not use wandb. If the script prints the metric, add this line to the "
        f"file: metrics: {{{_key(name)}: auto}}; if code outside this folder logs it to wandb, add metrics: {{}}; "
        f"otherwise append lines such as {line} to the file named by the environment variable {METRICS_FILE}"
    )


def _metric_name(plain: Mapping[str, Any]) -> str:
    metric = plain.get("metric")
    return str(metric.get("name", "val_loss")) if isinstance(metric, dict) else "val_loss"


def _key(name: str) -> str:
    """The name as a YAML key."""
    return name if re.fullmatch(r"[\w./-]*\w", name) else json.dumps(name)


def _texts(folder: Path) -> Iterator[str]:
    """The contents of the code files in a folder."""
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
