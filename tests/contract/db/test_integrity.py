"""The doctor's rules about rows find the same on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.db.integrity import row_checks
from podium.sweep.lifecycle.database_changes import MetricPoint
from podium.sweep.values.attempt_assignment import AttemptKey
from tests.databases import CHOSEN, EACH_DATABASE
from tests.service_rig import AT, ServiceRig

METRICS = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]


@pytest.fixture(params=EACH_DATABASE)
def service(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceRig]:
    """Sweep 1 is finished with trials 1 and 2 in an ensemble; in sweep 2 trial 3 is finished and 4 runs; sweep 3 has
    two objectives and the finished trial 5.
    """
    monkeypatch.setattr(CHOSEN, "postgres", request.param == "postgres")
    rig = ServiceRig(tmp_path)
    for values in (0.5, 0.9), (0.7, None):
        sweep_id = rig.sweep(run_cap=2 if values[1] else 4)
        for number, value in enumerate(values):
            rig.points(rig.trial(sweep_id, number, value), "val_accuracy", 0.1, 0.2)
    rig.end_sweep(1)
    rig.ensemble(1, [1, 2])
    rig.evaluation(1)
    rig.device()
    rig.sweep(metric=None, metrics=METRICS)
    rig.trial(3, 0, (0.5, 2.0), model=False, device="cpu-1")
    run(rig, f"UPDATE attempts SET started_at = {AT} + 10 * trial_id, ended_at = ended_at + 10 * trial_id")
    run(rig, "UPDATE sweeps SET state = 'running' WHERE id > 1")
    rig.commit(MetricPoint(AttemptKey(4, 1), "noise", 1, float("nan"), AT))
    yield rig
    rig.close()


def run(service: ServiceRig, statement: str) -> None:
    with service.database.write() as connection:
        connection.execute(text(statement))


def breached(service: ServiceRig) -> set[str]:
    with service.database.read() as connection:
        return {breach.invariant for breach in row_checks.breaches(connection)}


BREACHES = [
    ("attempts", "UPDATE trials SET attempt = 2 WHERE id = 1"),
    ("attempts", "UPDATE attempts SET ended_at = NULL, state = NULL WHERE trial_id = 1"),
    ("attempts", "UPDATE attempts SET ended_at = started_at + 1, state = 'failed' WHERE trial_id = 4"),
    ("attempts", "UPDATE attempts SET state = 'lost' WHERE trial_id = 1"),
    ("results", "UPDATE trials SET value = NULL WHERE id = 1"),
    ("results", "UPDATE trials SET value = CAST('{infinity}' AS DOUBLE PRECISION) WHERE id = 1"),
    ("results", "UPDATE attempts SET state = 'failed', cause = 'exited' WHERE trial_id = 1"),
    ("results", "UPDATE trials SET ended_at = NULL WHERE id = 1"),
    ("results", "UPDATE trials SET fallback_reason = 'tired' WHERE id = 1"),
    ("results", "UPDATE trials SET proposed_for = number, sampler = 'gp' WHERE id = 1"),
    ("results", "DELETE FROM trial_values WHERE trial_id = 5 AND position = 1"),
    ("results", "UPDATE trial_values SET name = 'loss' WHERE trial_id = 5 AND position = 1"),
    ("results", "UPDATE trial_values SET value = 0.6 WHERE trial_id = 5 AND position = 0"),
    ("results", "UPDATE trials SET param_0_number = NULL WHERE id = 1"),
    ("results", "UPDATE trials SET param_0_number = 0.7 WHERE id = 1"),
    ("results", "UPDATE trials SET param_0_text = '0.01' WHERE id = 1"),
    ("results", "UPDATE trials SET param_1_number = 0.7 WHERE id = 1"),
    ("results", "UPDATE trials SET param_15_text = 'null' WHERE id = 1"),
    ("results", "UPDATE trial_params SET number = 0.7 WHERE trial_id = 1"),
    ("results", "DELETE FROM trial_params WHERE trial_id = 1"),
    ("counts", "UPDATE sweeps SET run_cap = 1 WHERE id = 1"),
    ("counts", "UPDATE trials SET number = 5 WHERE id = 2"),
    ("counts", "UPDATE trial_counts SET count = 3 WHERE sweep_id = 1"),
    ("counts", "DELETE FROM trial_counts WHERE sweep_id = 2"),
    ("counts", "INSERT INTO trial_counts VALUES (1, 'failed', 1)"),
    ("sweeps", "UPDATE sweeps SET ended_at = NULL WHERE id = 1"),
    ("sweeps", "UPDATE sweeps SET wait_reason = 'boredom' WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET held = {true} WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET fixed = '{{\"sweep_id\": 1, \"trial_id\": 4}}' WHERE id = 2"),
    ("devices", "UPDATE attempts SET ended_at = NULL, device_s = NULL WHERE trial_id = 1"),
    ("devices", "UPDATE attempts SET devices = 2 WHERE trial_id = 1"),
    ("ensembles", "DELETE FROM artifacts WHERE trial_id = 1"),
    ("references", "UPDATE metrics SET attempt = 2 WHERE trial_id = 1"),
    ("references", "UPDATE non_finite_metrics SET attempt = 2"),
    ("references", "UPDATE artifacts SET attempt = 2 WHERE trial_id = 3"),
    ("references", "INSERT INTO sweep_predecessors VALUES (1, 2)"),
    ("references", "INSERT INTO enqueued (sweep_id, params, created_at, trial_id) VALUES (2, '{{}}', 1, 1)"),
    ("references", "UPDATE sweeps SET warm_start = '{{\"trials\": 3}}' WHERE id = 2"),
    ("requests", "UPDATE trials SET requested = 'retry' WHERE id = 1"),
    ("metrics", "UPDATE metric_summaries SET max_value = 7 WHERE trial_id = 1"),
    ("metrics", "UPDATE metric_summaries SET non_finite = 7 WHERE trial_id = 4"),
    ("metrics", "DELETE FROM metric_summaries WHERE trial_id = 1"),
    ("metrics", "DELETE FROM sweep_metrics"),
    ("intervals", "UPDATE attempts SET state = 'waiting' WHERE trial_id = 1"),
    ("intervals", "INSERT INTO intervals (trial_id, number, params, first_attempt, started_at, ended_at)"
                  " VALUES (4, 1, '{{}}', 1, 1, 2)"),
    ("usage", "INSERT INTO attempt_usage VALUES (1, 7, 0, 1, 1, 1, 1, 1, 1, NULL, NULL)"),
    ("usage", "INSERT INTO attempt_usage VALUES (1, 1, 0, 1, 1, 1, 1, -1, 1, NULL, NULL)"),
    ("usage", "INSERT INTO attempt_usage VALUES (1, 1, 0, 1, 1, 1, 100, 1, 1, NULL, NULL)"),
]  # fmt: skip


def test_rows_as_the_service_writes_them_break_no_rule(service: ServiceRig) -> None:
    with service.database.read() as connection:
        assert [*row_checks.integrity_problems(connection), *row_checks.breaches(connection)] == []


@pytest.mark.parametrize(("invariant", "statement"), BREACHES)
def test_broken_rule_is_found(service: ServiceRig, invariant: str, statement: str) -> None:
    infinity, true = ("Infinity", "true") if CHOSEN.postgres else ("9e999", "1")
    run(service, statement.format(infinity=infinity, true=true))
    assert invariant in breached(service)
