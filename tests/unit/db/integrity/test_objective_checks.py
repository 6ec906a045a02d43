"""The auditor on several objectives, constraints and warm starts: each planted breach is found."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from podium.db.integrity.main import audit
from podium.db.stores import warm_starts
from podium.sweep.lifecycle.warm_start_compatibility import WarmStart
from podium.sweep.spec.sweep_spec import parse_spec
from tests.doctor import assert_no_breaches
from tests.service_rig import AT, ServiceRig
from tests.specs import builtin_document

pytestmark = pytest.mark.sqlite

METRICS = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]


def run_sql(service: ServiceRig, *statements: str) -> None:
    with service.database.write() as connection:
        for statement in statements:
            connection.execute(text(statement))


@pytest.fixture
def several(service: ServiceRig) -> ServiceRig:
    """Sweep 1 with two objectives and finished trials 1 and 2, the second infeasible; sweep 2 starts from both."""
    service.sweep(metric=None, metrics=METRICS)
    service.trial(1, 0, (0.5, 2.0), model=False)
    service.trial(1, 1, (0.9, 1.0), model=False, constraints={"size": 1.0}, user_attrs={"note": "x"})
    spec = parse_spec(builtin_document(method="tpe", metric=None, metrics=METRICS, warm_start=[1]))
    service.sweep(method="tpe", metric=None, metrics=METRICS, warm_start=[1])
    with service.database.write() as connection:
        assert warm_starts.select_for(connection, spec) == WarmStart((1, 2))
        warm_starts.add(connection, 2, WarmStart((1, 2)))
    run_sql(service, f"UPDATE attempts SET started_at = {AT} + 10 * trial_id, ended_at = ended_at + 10 * trial_id")
    return service


def test_consistent_database_has_no_breach(several: ServiceRig) -> None:
    assert_no_breaches(several.data)


@pytest.mark.parametrize(
    ("invariant", "statement"),
    [
        ("results", "DELETE FROM trial_values WHERE trial_id = 1"),
        ("results", "DELETE FROM trial_values WHERE trial_id = 1 AND position = 0"),
        ("results", "DELETE FROM trial_values WHERE trial_id = 1 AND position = 1"),
        ("results", "INSERT INTO trial_values VALUES (1, 2, 'more', 0.5)"),
        ("results", "UPDATE trial_values SET name = 'loss' WHERE trial_id = 1 AND position = 1"),
        ("results", "UPDATE trial_values SET value = 0.6 WHERE trial_id = 1 AND position = 0"),
        ("results", "UPDATE trial_values SET value = 9e999 WHERE trial_id = 1 AND position = 1"),
        ("results", "UPDATE trials SET state = 'pruned', value = NULL WHERE id = 1"),
        ("results", "UPDATE trials SET state = 'waiting', value = NULL, ended_at = NULL WHERE id = 2"),
        ("references", "UPDATE trials SET state = 'failed', value = NULL WHERE id = 1"),
        ("references", "UPDATE warm_trials SET sweep_id = 1 WHERE trial_id = 1"),
        ("references", "DELETE FROM warm_trials WHERE trial_id = 1"),
        ("references", "UPDATE sweeps SET warm_start = NULL"),
    ],
)
def test_planted_breach_is_found(several: ServiceRig, invariant: str, statement: str) -> None:
    run_sql(several, statement)
    assert invariant in {breach.invariant for breach in audit(several.data, sleep=lambda _: None).breaches}
