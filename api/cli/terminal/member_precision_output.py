"""Terminal output of the precisions of members: what is used, why, and what was measured; CLI."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table

from podium.api.cli.terminal.terminal_output import table
from podium.api.client.ensemble_responses import MemberInfo, MemberPrecisions, PrecisionScores


def precisions(found: list[MemberInfo]) -> Group:
    """The precision of each member, why, and what was measured on the calibration rows."""
    rows = [
        (f"trial {member['trial_number']}", *_precision_row(figures))
        for member in found
        for figures in member["precision"]["figures"]
    ]
    reasons = [
        f"trial {member['trial_number']} (id {member['trial_id']}): {member['precision']['reason']}"
        for member in found
        if member["precision"]["reason"]
    ]
    return Group(*([_precision_table("on calibration rows", rows)] if rows else []), *reasons)


def evaluated_precisions(found: list[MemberPrecisions], names: list[str]) -> Group:
    """The members in float32 and in their requested precision, on the rows of an evaluation."""
    rows = []
    for one in found:
        for figures in one["figures"]:
            mark = " (served)" if figures["precision"] == one["served"] else ""
            rows.append((f"{names[one['position']]}{mark}", *_precision_row(figures)))
    problems = [f"{names[one['position']]}: {one['problem']}" for one in found if one["problem"]]
    return Group(_precision_table("precisions, on the same rows", rows), *problems)


def _precision_table(title: str, rows: list[tuple[Any, ...]]) -> Table:
    columns = ("network", "precision", "accuracy", "loss", "p50 1 row", "p50 256 rows", "weights", "process")
    return table(title, columns, rows)


def _precision_row(figures: PrecisionScores) -> tuple[Any, ...]:
    if figures["error"]:
        return (figures["precision"], figures["error"], *("–" for _ in range(5)))
    process = figures["process_bytes"]
    return (
        figures["precision"],
        _figure(figures["accuracy"]),
        _figure(figures["loss"]),
        *(f"{took_us / 1000:.3f} ms" for took_us in figures["p50_us"]),
        _size(figures["weights_bytes"]),
        "–" if process is None else _size(process),
    )


def _size(count: int) -> str:
    """Bytes for readers."""
    return f"{count / 2**20:.2f} MiB" if count >= 2**20 / 10 else f"{count / 2**10:.1f} KiB"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
