"""Invariants of what attempts used, as SQL queries; the process of `podium doctor`."""

from __future__ import annotations

from podium.db.integrity.invariant import Invariant

USAGE_RULES = (
    Invariant(
        "usage",
        "SELECT DISTINCT u.trial_id, u.number AS attempt, 'there are samples, but no such attempt' AS wrong"
        " FROM attempt_usage u LEFT JOIN attempts a ON a.trial_id = u.trial_id AND a.number = u.number"
        " WHERE a.number IS NULL",
    ),
    Invariant(
        "usage",
        "SELECT DISTINCT u.trial_id, u.number AS attempt, 'there are samples of rank ' || u.rank || ', which it does"
        " not have' AS wrong FROM attempt_usage u LEFT JOIN attempt_ranks r ON r.trial_id = u.trial_id"
        " AND r.number = u.number AND r.rank = u.rank WHERE u.rank > 0 AND r.rank IS NULL",
    ),
    Invariant(
        "usage",
        "SELECT DISTINCT trial_id, number AS attempt, 'a sample has a negative size or duration' AS wrong"
        " FROM attempt_usage WHERE span_s < 0 OR cpu_cores < 0 OR memory_bytes < 0 OR read_bytes < 0"
        " OR written_bytes < 0",
    ),
    Invariant(
        "usage",
        "SELECT a.trial_id, a.number AS attempt, 'its peak is ' || coalesce(CAST(a.peak_memory_bytes AS TEXT),"
        " 'none') || ' bytes,"
        " but one of its samples has ' || max(u.memory_bytes) AS wrong FROM attempts a JOIN attempt_usage u"
        " ON u.trial_id = a.trial_id AND u.number = a.number GROUP BY a.trial_id, a.number"
        " HAVING coalesce(a.peak_memory_bytes, 0) < max(u.memory_bytes)",
    ),
)  # fmt: skip
