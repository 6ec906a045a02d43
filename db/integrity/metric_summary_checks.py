"""Invariants of the summaries of metrics: they are what the points give; the process of `podium doctor`."""

# ruff: noqa: S608  (these queries hold no user input)

from __future__ import annotations

from podium.db.integrity.invariant import Invariant
from podium.db.stores.metric_summaries import from_points

_FIGURES = ("last_value", "last_step", "min_value", "min_step", "max_value", "max_step")
_DIFFERS = " OR ".join(f"s.{figure} IS DISTINCT FROM p.{figure}" for figure in _FIGURES)

METRIC_RULES = (
    Invariant(
        "metrics",
        "SELECT coalesce(s.trial_id, p.trial_id) AS trial_id, coalesce(s.name, p.name) AS name, CASE"
        " WHEN s.trial_id IS NULL THEN 'its points have no summary'"
        " ELSE 'its summary differs from its points: last ' || coalesce(CAST(s.last_value AS TEXT), 'none') || '"
        " instead of '"
        " || coalesce(CAST(p.last_value AS TEXT), 'none') || ', min ' || coalesce(CAST(s.min_value AS TEXT), 'none')"
        " || ' instead of '"
        " || coalesce(CAST(p.min_value AS TEXT), 'none') || ', max ' || coalesce(CAST(s.max_value AS TEXT), 'none')"
        " || ' instead of '"
        " || coalesce(CAST(p.max_value AS TEXT), 'none') END AS wrong"
        f" FROM metric_summaries s FULL JOIN ({from_points()}) p ON p.trial_id = s.trial_id AND p.name = s.name"
        f" WHERE {_DIFFERS}",
    ),
    Invariant(
        "metrics",
        "SELECT coalesce(s.trial_id, n.trial_id) AS trial_id, coalesce(s.name, n.name) AS name,"
        " coalesce(CAST(s.non_finite AS TEXT), 'no') || ' non-finite points in its summary, and ' ||"
        " coalesce(n.points, 0)"
        " || ' are stored' AS wrong FROM metric_summaries s FULL JOIN (SELECT trial_id, name, count(*) AS points,"
        " min(step) AS first FROM non_finite_metrics GROUP BY trial_id, name) n"
        " ON n.trial_id = s.trial_id AND n.name = s.name"
        " WHERE s.non_finite IS DISTINCT FROM coalesce(n.points, 0) OR s.non_finite_step IS DISTINCT FROM n.first",
    ),
    Invariant(
        "metrics",
        "SELECT trial_id, name, step, 'a point has the value ' || coalesce(CAST(value AS TEXT), 'none') AS wrong"
        " FROM metrics"
        " WHERE value IS NULL OR abs(value) > 1.7976931348623157e308",
    ),
    Invariant(
        "metrics",
        "SELECT s.trial_id, s.name, 'the metric is not among those of sweep ' || t.sweep_id AS wrong"
        " FROM metric_summaries s JOIN trials t ON t.id = s.trial_id"
        " LEFT JOIN sweep_metrics m ON m.sweep_id = t.sweep_id AND m.name = s.name WHERE m.name IS NULL",
    ),
    Invariant(
        "references",
        "SELECT m.trial_id, m.attempt, count(*) || ' non-finite points of a missing attempt' AS wrong"
        " FROM non_finite_metrics m LEFT JOIN attempts a ON a.trial_id = m.trial_id AND a.number = m.attempt"
        " WHERE a.number IS NULL AND m.attempt <> 0 GROUP BY m.trial_id, m.attempt",
    ),
)
