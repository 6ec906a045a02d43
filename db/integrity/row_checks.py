"""Invariants of the database rows as SQL queries that find breaches; the process of `podium doctor`.

Each query returns one row per breach: `wrong` describes it, the other columns identify the rows. Only values of enums
are formatted into queries.
"""

# ruff: noqa: S608  (these queries hold no user input: only values of enums)
from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from sqlalchemy import Connection, text

from podium.db.integrity.invariant import ALWAYS, NO_ROOM, WHILE_STOPPED, Breach, Invariant
from podium.db.integrity.metric_summary_checks import METRIC_RULES
from podium.db.integrity.parameter_column_checks import column_problems
from podium.db.integrity.population_interval_checks import INTERVAL_RULES
from podium.db.integrity.usage_checks import USAGE_RULES
from podium.db.queries import best_trials, scheduler_recovery
from podium.db.schema.dialect import is_postgres
from podium.db.stores.event_outbox import TRIAL_SENDING
from podium.sweep.lifecycle.imported_sweep import SAMPLER
from podium.sweep.values.constraints_and_user_attributes import is_infeasible
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import CLONED, ENQUEUED, RANDOM, TPE, FallbackReason
from podium.sweep.values.states import (
    COUNTED_TRIAL_STATES,
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    SweepState,
    TrialState,
)
from podium.sweep.values.sweep_wait_reason import WaitReason


def _list(values: Iterable[StrEnum]) -> str:
    return ", ".join(f"'{value.value}'" for value in sorted(values))


_OVER, _SWEEP_OVER, _COUNTED = _list(TERMINAL_TRIAL_STATES), _list(TERMINAL_SWEEP_STATES), _list(COUNTED_TRIAL_STATES)
_MAY_WAIT = (SweepState.QUEUED, SweepState.RUNNING, SweepState.STOPPING)
_MAY_BE_HELD = (SweepState.QUEUED, SweepState.PAUSED, SweepState.CANCELLED)
_KINDS = ", ".join([*(f"'trial.{state.value}'" for state in sorted(TrialState)), f"'{TRIAL_SENDING}'"])
_IMPORTED = "(SELECT id FROM sweeps WHERE json_extract(spec, '$.program.imported') IS NOT NULL)"
_OURS = f"t.sampler <> '{SAMPLER}'"
_CURRENT = "trials t LEFT JOIN attempts a ON a.trial_id = t.id AND a.number = t.attempt"
_COUNTS = (
    "(SELECT s.*, (SELECT count(*) FROM trials t WHERE t.sweep_id = s.id"
    f" AND t.state IN ({_COUNTED})) AS counted FROM sweeps s)"
)
# Attempts on each of their devices; most have one.
_HELD = (
    "(SELECT trial_id, number, device_id, node, started_at, ended_at, device_s / devices AS device_s FROM attempts"
    " UNION ALL SELECT a.trial_id, a.number, r.device_id, r.node, a.started_at, a.ended_at, a.device_s / a.devices"
    " FROM attempts a JOIN attempt_ranks r ON r.trial_id = a.trial_id AND r.number = a.number AND r.rank > 0)"
)
# Attempts with the events of their placement and of their end, or of their leaving the device before: the order known
# to the scheduler, independent of clocks.
_PLACED = (
    "(SELECT a.*, e.id AS placed, e.over FROM " + _HELD + " a LEFT JOIN (SELECT id, kind, trial_id, payload,"
    " lead(id) OVER (PARTITION BY trial_id ORDER BY id) AS over FROM events"
    f" WHERE kind IN ({_KINDS})) e"
    " ON e.kind = 'trial.running' AND e.trial_id = a.trial_id AND CAST(json_extract(e.payload, '$.attempt') AS"
    " BIGINT) = a.number)"
)
# When an attempt left its device, by the clocks; an attempt on a node may end later, when its files have been sent.
_LEFT_AT = (
    "CASE WHEN device_s IS NULL THEN ended_at"
    " ELSE min(coalesce(ended_at, 1.7976931348623157e308), started_at + device_s) END"
)
# Tolerated difference between the clocks of the scheduler's machine and a node.
CLOCKS_S = 0.05

RULES = (
    # Attempts.
    Invariant(
        "attempts",
        "SELECT trial_id, 'its ' || count(*) || ' attempts are numbered ' || min(number) || ' to ' || max(number)"
        " AS wrong FROM attempts GROUP BY trial_id HAVING min(number) <> 1 OR max(number) <> count(*)",
    ),
    Invariant(
        "attempts",
        "SELECT t.id AS trial_id, 'its attempt is ' || t.attempt || ', the last one is ' || coalesce(a.last, 0)"
        " AS wrong FROM trials t LEFT JOIN (SELECT trial_id, max(number) AS last FROM attempts GROUP BY trial_id) a"
        " ON a.trial_id = t.id WHERE t.attempt <> coalesce(a.last, 0)",
    ),
    Invariant(
        "attempts",
        "SELECT a.trial_id, a.number AS attempt, 'the attempt has not ended, but the trial is ' || t.state || ' at '"
        " || t.attempt AS wrong FROM attempts a JOIN trials t ON t.id = a.trial_id"
        " WHERE a.ended_at IS NULL AND NOT (t.state = 'running' AND a.number = t.attempt)",
    ),
    Invariant(
        "attempts",
        "SELECT t.id AS trial_id, t.attempt, 'the trial is running, but its attempt has ended or is missing' AS wrong"
        f" FROM {_CURRENT} WHERE t.state = 'running' AND (a.number IS NULL OR a.ended_at IS NOT NULL)",
    ),
    Invariant(
        "attempts",
        "SELECT trial_id, number AS attempt, 'ended_at is ' || coalesce(CAST(ended_at AS TEXT), 'not set') || ',"
        " state is '"
        " || coalesce(state, 'not set') AS wrong FROM attempts"
        f" WHERE (ended_at IS NULL) <> (state IS NULL) OR state NOT IN ({_OVER}, 'waiting')",
    ),
    # Results.
    Invariant(
        "results",
        "SELECT id AS trial_id, 'unknown state ' || state AS wrong FROM trials"
        f" WHERE state NOT IN ({_list(TrialState)})",
    ),
    Invariant(
        "results",
        "SELECT t.id AS trial_id, t.attempt, 'finished with value ' || coalesce(CAST(t.value AS TEXT), 'none') || ',"
        " its attempt '"
        f" || coalesce(a.state, 'has not ended') AS wrong FROM {_CURRENT} WHERE t.state = 'finished'"
        " AND (t.value IS NULL OR abs(t.value) > 1.7976931348623157e308"
        f" OR (coalesce(a.state, '') <> 'finished' AND {_OURS}))",
    ),
    Invariant(
        "results",
        "SELECT t.id AS trial_id, t.attempt, 'failed, but its attempt has an unknown cause: '"
        f" || coalesce(a.cause, 'none') AS wrong FROM {_CURRENT} WHERE t.state = 'failed'"
        f" AND (coalesce(a.cause, '') NOT IN ({_list(Cause)}) OR a.state <> 'failed') AND {_OURS}",
    ),
    Invariant(
        "results",
        f"SELECT t.id AS trial_id, t.attempt, 'pruned, but its attempt is not' AS wrong FROM {_CURRENT}"
        f" WHERE t.state = 'pruned' AND coalesce(a.state, '') <> 'pruned' AND {_OURS}",
    ),
    Invariant(
        "results",
        "SELECT id AS trial_id, state || ' with value ' || value AS wrong FROM trials"
        " WHERE state <> 'finished' AND value IS NOT NULL",
    ),
    Invariant(
        "results",
        "SELECT id AS trial_id, state || ', ended_at is ' || coalesce(CAST(ended_at AS TEXT), 'not set') AS wrong"
        " FROM trials"
        f" WHERE (state IN ({_OVER})) <> (ended_at IS NOT NULL)",
    ),
    # Imported trials ran elsewhere: they have no attempts and are stored unchanged.
    Invariant(
        "results",
        "SELECT t.id AS trial_id, t.sweep_id, 'its sampler is ' || t.sampler || ', its sweep was '"
        " || CASE WHEN i.id IS NULL THEN 'not ' ELSE '' END || 'imported' AS wrong FROM trials t"
        f" LEFT JOIN {_IMPORTED} i ON i.id = t.sweep_id WHERE (t.sampler = '{SAMPLER}') <> (i.id IS NOT NULL)",
    ),
    # What chose the parameters. NULL where it does not apply.
    Invariant(
        "results",
        "SELECT id AS trial_id, 'there is no fallback_reason ' || fallback_reason AS wrong FROM trials"
        f" WHERE fallback_reason NOT IN ({_list(FallbackReason)})",
    ),
    Invariant(
        "results",
        "SELECT id AS trial_id, 'its sampler is ' || sampler || ', with fallback_reason ' || fallback_reason AS wrong"
        " FROM trials WHERE fallback_reason IS NOT NULL AND sampler <>"
        f" CASE fallback_reason WHEN '{FallbackReason.MANY_TRIALS.value}' THEN '{TPE}' ELSE '{RANDOM}' END",
    ),
    Invariant(
        "results",
        "SELECT id AS trial_id, 'its fallback_reason is ' || coalesce(fallback_reason, 'not set') ||"
        " ', fallback_error ' || coalesce('is ' || fallback_error, 'is not set') AS wrong FROM trials"
        f" WHERE (coalesce(fallback_reason, '') = '{FallbackReason.FAILED.value}') <> (fallback_error IS NOT NULL)",
    ),
    Invariant(
        "results",
        "SELECT id AS trial_id, 'its number is ' || number || ', its sampler ' || sampler || ', and its parameters'"
        " || ' were proposed for trial ' || proposed_for AS wrong FROM trials WHERE proposed_for IS NOT NULL"
        " AND (proposed_for NOT BETWEEN 0 AND number - 1"
        f" OR coalesce(fallback_reason, '{FallbackReason.MANY_TRIALS.value}') <> '{FallbackReason.MANY_TRIALS.value}'"
        f" OR sampler IN ('{ENQUEUED}', '{CLONED}', '{SAMPLER}'))",
    ),
    Invariant(
        "attempts",
        "SELECT a.trial_id, a.number AS attempt, 'an attempt of an imported trial' AS wrong FROM attempts a"
        f" JOIN trials t ON t.id = a.trial_id WHERE t.sampler = '{SAMPLER}'",
    ),
    Invariant(
        "sweeps",
        "SELECT s.id AS sweep_id, 'imported, but ' || s.state AS wrong FROM sweeps s"
        f" JOIN {_IMPORTED} i ON i.id = s.id WHERE s.state <> 'finished'",
    ),
    Invariant(
        "results",
        "SELECT t.id AS trial_id, t.state || ' with ' || count(v.value) || ' values, of '"
        " || coalesce(json_array_length(s.spec, '$.metrics'), 0) || ' objectives of a sweep with several' AS wrong"
        " FROM trials t JOIN sweeps s ON s.id = t.sweep_id LEFT JOIN trial_values v ON v.trial_id = t.id"
        " WHERE v.trial_id IS NOT NULL OR (t.state = 'finished' AND json_array_length(s.spec, '$.metrics') > 1)"
        " GROUP BY t.id, s.id HAVING t.state <> 'finished' OR count(v.value) <>"
        " coalesce(json_array_length(s.spec, '$.metrics'), 0) OR max(v.position) <> count(v.value) - 1"
        " OR sum(CASE WHEN v.name <> json_extract(s.spec, '$.metrics[' || v.position || '].name') THEN 1 END) > 0",
    ),
    Invariant(
        "results",
        "SELECT t.id AS trial_id, 'its value is ' || coalesce(CAST(t.value AS TEXT), 'none') || ', and ' || v.value"
        " || ' among all'"
        " AS wrong FROM trial_values v JOIN trials t ON t.id = v.trial_id"
        " WHERE (v.position = 0 AND v.value IS DISTINCT FROM t.value) OR abs(v.value) > 1.7976931348623157e308",
    ),
    Invariant(
        "results",
        "SELECT t.id AS trial_id, t.state || ', but has ' || n.what AS wrong FROM trials t JOIN"
        " (SELECT DISTINCT trial_id, 'a constraint' AS what FROM trial_constraints UNION"
        " SELECT DISTINCT trial_id, 'an attribute' FROM trial_attrs) n ON n.trial_id = t.id"
        f" WHERE t.state NOT IN ({_OVER})",
    ),
    # Counts.
    Invariant(
        "counts",
        f"SELECT id AS sweep_id, counted || ' trials counted, run_cap is ' || run_cap AS wrong FROM {_COUNTS} s"
        " WHERE counted > run_cap",
    ),
    Invariant(
        "counts",
        "SELECT sweep_id, count(*) || ' trials are numbered ' || min(number) || ' to ' || max(number) AS wrong"
        " FROM trials GROUP BY sweep_id HAVING min(number) <> 0 OR max(number) <> count(*) - 1",
    ),
    Invariant(
        "counts",
        "SELECT sweep_id, sum(counted) || ' trials are ' || state || ', and ' || sum(stored) || ' are counted' AS wrong"
        " FROM (SELECT sweep_id, state, count(*) AS counted, 0 AS stored FROM trials GROUP BY sweep_id, state"
        " UNION ALL SELECT sweep_id, state, 0, count FROM trial_counts) c"
        " GROUP BY sweep_id, state HAVING sum(counted) <> sum(stored)",
    ),
    # Sweeps.
    Invariant(
        "sweeps",
        "SELECT id AS sweep_id, state || ', with wait_reason ' || wait_reason AS wrong FROM sweeps"
        f" WHERE wait_reason NOT IN ({_list(WaitReason)})"
        f" OR (wait_reason IS NOT NULL AND state NOT IN ({_list(_MAY_WAIT)}))",
    ),
    Invariant(
        "sweeps",
        "SELECT id AS sweep_id, 'there is no state ' || state AS wrong FROM sweeps"
        f" WHERE state NOT IN ({_list(SweepState)})",
    ),
    Invariant(
        "sweeps",
        "SELECT id AS sweep_id, state || ', ended_at is ' || coalesce(CAST(ended_at AS TEXT), 'not set') AS wrong"
        " FROM sweeps"
        f" WHERE (state IN ({_SWEEP_OVER})) <> (ended_at IS NOT NULL)",
    ),
    Invariant(
        "sweeps",
        "SELECT s.id AS sweep_id, t.id AS trial_id, 'the sweep is ' || s.state || ', the trial ' || t.state AS wrong"
        " FROM sweeps s JOIN trials t ON t.sweep_id = s.id"
        f" WHERE s.state IN ({_SWEEP_OVER}) AND t.state NOT IN ({_OVER})",
        passing=True,
        note_when=(WHILE_STOPPED, NO_ROOM),
    ),
    Invariant(
        "sweeps",
        "SELECT id AS sweep_id, 'running, with nothing running or runnable: ' || counted || ' of ' || run_cap"
        f" || ' counted' AS wrong FROM {_COUNTS} s WHERE state = 'running' AND counted >= run_cap"
        f" AND NOT EXISTS (SELECT 1 FROM trials t WHERE t.sweep_id = s.id AND t.state NOT IN ({_OVER}))",
        passing=True,
        note_when=(WHILE_STOPPED, NO_ROOM),
    ),
    # Devices: each attempt must be placed after all earlier ones have ended, or left the device to send their files.
    Invariant(
        "devices",
        "SELECT trial_id, number AS attempt, device_id AS device, 'was placed before another attempt on this device'"
        " || ' had ended' AS wrong FROM (SELECT p.*, max(CASE WHEN ended_at IS NULL AND device_s IS NULL THEN"
        " 9223372036854775807"
        " ELSE over END)"
        " OVER (PARTITION BY device_id, node ORDER BY placed ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        f" AS before FROM {_PLACED} p WHERE placed IS NOT NULL) o WHERE before > placed",
    ),
    # An attempt on several devices has a row for each of them, that of rank 0 among them; one with several slots of a
    # device has a row for each slot.
    Invariant(
        "devices",
        "SELECT a.trial_id, a.number AS attempt, a.devices || ' devices, with ' || count(r.rank) || ' ranks, 0 to '"
        " || coalesce(CAST(max(r.rank) AS TEXT), 'none') AS wrong FROM attempts a LEFT JOIN attempt_ranks r"
        " ON r.trial_id = a.trial_id AND r.number = a.number GROUP BY a.trial_id, a.number"
        " HAVING (a.devices > 1 OR count(r.rank) > 0)"
        " AND (count(r.rank) < a.devices OR (a.devices > 1 AND count(r.rank) <> a.devices)"
        " OR max(r.rank) <> count(r.rank) - 1 OR count(DISTINCT r.device_id) <> count(r.rank)"
        " OR sum(CASE WHEN r.rank = 0 AND r.device_id = a.device_id THEN 1 ELSE 0 END) <> 1)",
    ),
    Invariant(
        "devices",
        "SELECT r.trial_id, r.number AS attempt, r.rank || ' is a rank of a missing attempt' AS wrong"
        " FROM attempt_ranks r LEFT JOIN attempts a ON a.trial_id = r.trial_id AND a.number = r.number"
        " WHERE a.number IS NULL",
    ),
    # The same by the clocks. These may have been set, so they alone prove nothing.
    Invariant(
        "devices",
        "SELECT trial_id, number AS attempt, device_id AS device, 'began ' || round(before - started_at, 3)"
        " || ' s before another attempt on this device had ended, unless the clock was set meanwhile' AS wrong"
        f" FROM (SELECT h.*, max({_LEFT_AT}) OVER (PARTITION BY device_id, node ORDER BY started_at, trial_id, number"
        f" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM {_HELD} h) o"
        f" WHERE before > started_at + {CLOCKS_S}",
        note_when=(ALWAYS,),
    ),
    # Ensembles.
    Invariant(
        "ensembles",
        "SELECT e.id AS ensemble_id, m.version, t.id AS trial_id, 'a member is ' || t.state || ', with'"
        " || CASE WHEN f.name IS NULL THEN 'out' ELSE '' END || ' a model' AS wrong"
        " FROM ensembles e JOIN ensemble_members m ON m.ensemble_id = e.id JOIN trials t ON t.id = m.trial_id"
        " LEFT JOIN artifacts f ON f.trial_id = t.id AND f.name = 'model.safetensors'"
        " WHERE e.state <> 'retired' AND (t.state <> 'finished' OR f.name IS NULL)",
    ),
    Invariant(
        "ensembles",
        "SELECT m.ensemble_id, m.version, m.position, 'a member was started in ' || m.precision ||"
        " ' before its precision was measured' AS wrong"
        " FROM ensemble_members m JOIN replicas r ON r.member_id = m.id"
        " WHERE r.epoch > 0 AND m.precision <> 'float32' AND m.measured_precision IS NULL GROUP BY m.id",
    ),
    # References that are not foreign keys.
    Invariant(
        "references",
        "SELECT m.trial_id, m.attempt, count(*) || ' metric points of a missing attempt' AS wrong"
        " FROM metrics m LEFT JOIN attempts a ON a.trial_id = m.trial_id AND a.number = m.attempt"
        f" JOIN trials t ON t.id = m.trial_id WHERE a.number IS NULL AND NOT (m.attempt = 0 AND t.sampler ="
        f" '{SAMPLER}') GROUP BY m.trial_id, m.attempt",
    ),
    Invariant(
        "references",
        "SELECT f.trial_id, f.attempt, f.name, 'a file of a missing attempt' AS wrong"
        " FROM artifacts f LEFT JOIN attempts a ON a.trial_id = f.trial_id AND a.number = f.attempt"
        " WHERE a.number IS NULL",
    ),
    Invariant(
        "references",
        "SELECT q.id AS enqueued_id, q.trial_id, 'enqueued for sweep ' || q.sweep_id || ', planned in sweep '"
        " || coalesce(CAST(t.sweep_id AS TEXT), 'none') AS wrong FROM enqueued q LEFT JOIN trials t ON t.id ="
        " q.trial_id"
        " WHERE q.trial_id IS NOT NULL AND coalesce(t.sweep_id, -1) <> q.sweep_id",
    ),
    Invariant(
        "references",
        "SELECT w.sweep_id, w.trial_id, 'its search starts from a trial that is ' || t.state AS wrong"
        " FROM warm_trials w JOIN trials t ON t.id = w.trial_id"
        f" WHERE t.state NOT IN ({_COUNTED}) OR t.sweep_id = w.sweep_id",
    ),
    Invariant(
        "references",
        "SELECT s.id AS sweep_id, 'its search starts from ' || count(w.trial_id) || ' trials, and '"
        " || json_extract(s.warm_start, '$.trials') || ' were chosen' AS wrong"
        " FROM sweeps s LEFT JOIN warm_trials w ON w.sweep_id = s.id GROUP BY s.id"
        " HAVING count(w.trial_id) <> coalesce(CAST(json_extract(s.warm_start, '$.trials') AS BIGINT), 0)",
    ),
    # Sweeps that wait for others. Names of sweeps are ids since their submission, so no cycle can arise.
    Invariant(
        "references",
        "SELECT sweep_id, predecessor_id, 'it waits for a sweep that is not older' AS wrong FROM sweep_predecessors"
        " WHERE predecessor_id >= sweep_id",
    ),
    Invariant(
        "references",
        "SELECT s.id AS sweep_id, 'its file names ' || coalesce(json_array_length(s.spec, '$.after'), 0)"
        " || ' predecessors, and it has ' || count(p.predecessor_id) AS wrong FROM sweeps s LEFT JOIN"
        " sweep_predecessors p ON p.sweep_id = s.id GROUP BY s.id"
        " HAVING count(p.predecessor_id) <> coalesce(json_array_length(s.spec, '$.after'), 0)",
    ),
    Invariant(
        "sweeps",
        "SELECT s.id AS sweep_id, 'it waits for its predecessors, but has '"
        " || CASE WHEN count(t.id) = 0 THEN 'none' ELSE 'trials' END AS wrong FROM sweeps s"
        " LEFT JOIN trials t ON t.sweep_id = s.id LEFT JOIN sweep_predecessors p ON p.sweep_id = s.id"
        " WHERE s.held AND (t.id IS NOT NULL OR p.sweep_id IS NULL) GROUP BY s.id",
    ),
    Invariant(
        "sweeps",
        "SELECT id AS sweep_id, 'it waits for its predecessors, but is ' || state AS wrong FROM sweeps"
        f" WHERE held AND state NOT IN ({_list(_MAY_BE_HELD)})",
    ),
    Invariant(
        "sweeps",
        "SELECT s.id AS sweep_id, t.id AS trial_id, 'its values of fix_from are those of a trial of sweep '"
        " || coalesce(CAST(t.sweep_id AS TEXT), 'none') || ' that is ' || coalesce(t.state, 'missing') AS wrong FROM"
        " sweeps s"
        " LEFT JOIN trials t ON t.id = CAST(json_extract(s.fixed, '$.trial_id') AS BIGINT) WHERE s.fixed IS NOT NULL"
        " AND (t.id IS NULL OR t.state <> 'finished' OR t.sweep_id <> CAST(json_extract(s.fixed, '$.sweep_id') AS"
        " BIGINT))",
    ),
    Invariant(
        "sweeps",
        "SELECT s.id AS sweep_id, 'it started with a fix_from whose values are not known' AS wrong FROM sweeps s"
        " WHERE json_type(s.spec, '$.fix_from') = 'object' AND NOT s.held",
    ),
    # A running trial has the grace period of its spec, so only requests that need no waiting are checked.
    Invariant(
        "requests",
        "SELECT id AS trial_id, requested || ' is still pending on a ' || state || ' trial' AS wrong FROM trials"
        " WHERE requested IS NOT NULL AND NOT (requested = 'stop' AND state = 'running')",
        passing=True,
        note_when=(WHILE_STOPPED, NO_ROOM),
    ),
)  # fmt: skip


def breaches(connection: Connection) -> Iterator[Breach]:
    """The breaches of all rules."""
    for rule in (*RULES, *INTERVAL_RULES, *METRIC_RULES, *USAGE_RULES):
        for row in connection.execute(text(rule.query)).mappings():
            which = {name: value for name, value in row.items() if name != "wrong"}
            yield Breach(
                invariant=rule.invariant, rows=which, wrong=row["wrong"], passing=rule.passing, note_when=rule.note_when
            )
    yield from column_problems(connection)
    yield from _sweep_by_sweep(connection)


def integrity_problems(connection: Connection) -> Iterator[Breach]:
    """Damage that SQLite finds in the file: pages, indexes, foreign keys.

    PostgreSQL checks these by itself, except for the trials of points, which have no foreign key there: `METRIC_RULES`
    finds points without a summary.
    """
    if is_postgres(connection):
        return
    for (verdict,) in connection.execute(text("PRAGMA integrity_check(10)")):
        if verdict != "ok":
            yield Breach("database", {}, verdict)
    for table, row, parent, _ in connection.execute(text("PRAGMA foreign_key_check")):
        where: dict[str, int | str] = {"table": table} if row is None else {"table": table, "row": row}
        yield Breach("database", where, f"it references a missing row of {parent}")


def _sweep_by_sweep(connection: Connection) -> Iterator[Breach]:
    for sweep_id, goal in connection.execute(text("SELECT id, goal FROM sweeps")).all():
        try:
            stored = scheduler_recovery.stored_trials(connection, sweep_id)
        except ValueError as error:
            yield Breach("counts", {"sweep_id": sweep_id}, f"a restarted scheduler cannot read its trials: {error}")
            continue
        told = sum(trial.state in COUNTED_TRIAL_STATES for trial in stored)
        counted = connection.execute(
            text(f"SELECT count(*) FROM trials WHERE sweep_id = :id AND state IN ({_COUNTED})"),
            {"id": sweep_id},
        ).scalar_one()
        if told != counted:
            wrong = f"{counted} trials counted, but a restarted sampler gets {told}"
            yield Breach("counts", {"sweep_id": sweep_id}, wrong)
        sign = -1 if goal == "maximize" else 1
        done = [
            (t.value, t)
            for t in stored
            if t.state is TrialState.FINISHED and t.value is not None and not is_infeasible(t.constraints)
        ]
        expected = [trial.trial_id for _, trial in sorted(done, key=lambda item: (sign * item[0], item[1].number))][:10]
        try:
            found = [row.id for row in best_trials.best(connection, sweep_id, goal, 10) if row.value is not None]
        except ValueError as error:
            yield Breach("best", {"sweep_id": sweep_id}, f"its trials cannot be read: {error}")
            continue
        if found != expected:
            yield Breach("best", {"sweep_id": sweep_id}, f"the query returns {found}, the values give {expected}")
