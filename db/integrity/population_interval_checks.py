"""Invariants of the intervals of populations, as SQL queries; the process of `podium doctor`."""

# ruff: noqa: S608  (these queries hold no user input: only values of enums)

from __future__ import annotations

from podium.db.integrity.invariant import Invariant
from podium.sweep.values.states import TrialState

INTERVAL_RULES = (
    Invariant(
        "intervals",
        "SELECT trial_id, number AS attempt, 'it ended an interval that is not there' AS wrong FROM attempts a"
        f" WHERE state = '{TrialState.WAITING.value}' AND NOT EXISTS (SELECT 1 FROM intervals i"
        " WHERE i.trial_id = a.trial_id AND i.attempt = a.number)",
    ),
    Invariant(
        "intervals",
        "SELECT i.trial_id, i.number AS interval, 'attempt ' || coalesce(CAST(i.attempt AS TEXT), 'none') || ' ended"
        " it, which '"
        " || coalesce('ended as ' || a.state, 'is not there') AS wrong FROM intervals i LEFT JOIN attempts a"
        " ON a.trial_id = i.trial_id AND a.number = i.attempt WHERE i.ended_at IS NOT NULL"
        f" AND coalesce(a.state, '') <> '{TrialState.WAITING.value}'",
    ),
    Invariant(
        "intervals",
        "SELECT trial_id, number AS interval, 'ended, with step ' || coalesce(CAST(step AS TEXT), 'none') || ' and"
        " value '"
        " || coalesce(CAST(value AS TEXT), 'none') AS wrong FROM intervals WHERE ended_at IS NOT NULL"
        " AND (step IS NULL OR value IS NULL OR abs(value) > 1.7976931348623157e308)",
    ),
    Invariant(
        "intervals",
        "SELECT trial_id, number AS interval, 'it has not ended, but a later one has started' AS wrong FROM intervals i"
        " WHERE ended_at IS NULL AND number < (SELECT max(number) FROM intervals l WHERE l.trial_id = i.trial_id)",
    ),
    Invariant(
        "intervals",
        "SELECT trial_id, attempt, 'it ended ' || count(*) || ' intervals' AS wrong FROM intervals"
        " WHERE attempt IS NOT NULL GROUP BY trial_id, attempt HAVING count(*) > 1",
    ),
    Invariant(
        "intervals",
        "SELECT i.trial_id, i.number AS interval, 'it starts from interval ' || coalesce(CAST(i.donor_interval AS"
        " TEXT), 'none') ||"
        " ' of trial ' || i.donor_id || ', which has not ended or is of another sweep' AS wrong FROM intervals i"
        " JOIN trials t ON t.id = i.trial_id LEFT JOIN intervals d"
        " ON d.trial_id = i.donor_id AND d.number = i.donor_interval LEFT JOIN trials o ON o.id = i.donor_id"
        " WHERE i.donor_id IS NOT NULL AND (d.ended_at IS NULL OR o.sweep_id <> t.sweep_id)",
    ),
)  # fmt: skip
