"""Terminal output of the traffic, the events and the drift of an ensemble; CLI."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table

from podium.api.cli.terminal.terminal_output import number, table
from podium.api.client.ensemble_traffic_and_drift_responses import DriftInfo, EnsembleEvent, TrafficInfo


def traffic(found: TrafficInfo) -> Table:
    """One line per interval, oldest first; a dash without a request."""
    rows = (
        (
            point["at"],
            point["requests"],
            point["degraded"],
            point["failed"],
            _percent(point["late_share"]),
            number(point["p50_ms"]),
            number(point["p99_ms"]),
        )
        for point in found["points"]
    )
    return table(None, ("from", "requests", "degraded", "failed", "late", "p50 ms", "p99 ms"), rows)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.3g} %"


def events(found: list[EnsembleEvent]) -> Table:
    """One line per event."""
    rows = (
        (
            event["at"],
            event["kind"].replace("_", " "),
            "–" if event["version"] is None else event["version"],
            ", ".join(event["member_names"]) or "–",
            event["reason"],
        )
        for event in found
    )
    return table(None, ("at", "event", "version", "members", "reason"), rows)


def drift(found: DriftInfo) -> RenderableType:
    """The features that differ most, or why nothing is compared."""
    if found["problem"]:
        return f"nothing to compare: {found['problem']}"
    summary = (
        f"{found['notable']} features of the {found['rows']:,} sampled rows differ by more than "
        f"{number(found['threshold'])} standard deviations"
    )
    rows = (
        (
            feature["name"],
            number(feature["train_mean"]),
            number(feature["train_std"]),
            number(feature["recent_mean"]),
            number(feature["recent_std"]),
            "∞" if feature["difference"] is None else f"{feature['difference']:+.3g}",
        )
        for feature in found["features"]
    )
    columns = ("feature", "training mean", "std", "recent mean", "recent std", "difference")
    return Group(summary, table(None, columns, rows))
