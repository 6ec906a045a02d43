"""Summaries of metrics, and their non-finite points

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_INFINITE = "value IN (9e999, -9e999)"  # which only imported studies could have
_MOVE = f"""
    INSERT INTO non_finite_metrics (trial_id, name, step, value, attempt, at)
    SELECT trial_id, name, step, CASE WHEN value > 0 THEN 'inf' ELSE '-inf' END, attempt, at
    FROM metrics WHERE {_INFINITE}
"""  # noqa: S608 - constants
_MOVED = f"DELETE FROM metrics WHERE {_INFINITE}"  # noqa: S608 - constants
_STEP_OF = "(SELECT min(step) FROM metrics m WHERE m.trial_id = c.trial_id AND m.name = c.name AND m.value = {})"
_FILL = f"""
    INSERT INTO metric_summaries
      (trial_id, name, last_value, last_step, min_value, min_step, max_value, max_step, non_finite)
    SELECT c.trial_id, c.name, l.value, c.last_step, c.min_value, {_STEP_OF.format("c.min_value")},
      c.max_value, {_STEP_OF.format("c.max_value")}, 0
    FROM (SELECT trial_id, name, max(step) AS last_step, min(value) AS min_value, max(value) AS max_value
      FROM metrics GROUP BY trial_id, name) c
    JOIN metrics l ON l.trial_id = c.trial_id AND l.name = c.name AND l.step = c.last_step
"""  # noqa: S608 - constants
_COUNT = """
    INSERT INTO metric_summaries (trial_id, name, non_finite, non_finite_step)
    SELECT trial_id, name, count(*), min(step) FROM non_finite_metrics WHERE true GROUP BY trial_id, name
    ON CONFLICT DO UPDATE SET non_finite = excluded.non_finite, non_finite_step = excluded.non_finite_step
"""
_FILL_NAMES = """
    INSERT INTO sweep_metrics (sweep_id, name)
    SELECT DISTINCT t.sweep_id, s.name FROM metric_summaries s JOIN trials t ON t.id = s.trial_id
"""

_MOVE_BACK = """
    INSERT INTO metrics (trial_id, name, step, value, attempt, at)
    SELECT trial_id, name, step, CASE value WHEN 'inf' THEN 9e999 ELSE -9e999 END, attempt, at
    FROM non_finite_metrics WHERE value <> 'nan' ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    op.create_table(
        "non_finite_metrics",
        sa.Column("trial_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_non_finite_metrics_trial_id_trials")),
        sa.PrimaryKeyConstraint("trial_id", "name", "step", name=op.f("pk_non_finite_metrics")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "metric_summaries",
        sa.Column("trial_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("last_value", sa.Float(), nullable=True),
        sa.Column("last_step", sa.Integer(), nullable=True),
        sa.Column("min_value", sa.Float(), nullable=True),
        sa.Column("min_step", sa.Integer(), nullable=True),
        sa.Column("max_value", sa.Float(), nullable=True),
        sa.Column("max_step", sa.Integer(), nullable=True),
        sa.Column("non_finite", sa.Integer(), server_default="0", nullable=False),
        sa.Column("non_finite_step", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_metric_summaries_trial_id_trials")),
        sa.PrimaryKeyConstraint("trial_id", "name", name=op.f("pk_metric_summaries")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sweep_metrics",
        sa.Column("sweep_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweeps.id"], name=op.f("fk_sweep_metrics_sweep_id_sweeps")),
        sa.PrimaryKeyConstraint("sweep_id", "name", name=op.f("pk_sweep_metrics")),
        sqlite_with_rowid=False,
    )
    for statement in (_MOVE, _MOVED, _FILL, _COUNT, _FILL_NAMES):
        op.execute(statement)


def downgrade() -> None:
    """Infinite values return to the points; NaN has no place among them."""
    op.execute(_MOVE_BACK)
    op.drop_table("sweep_metrics")
    op.drop_table("metric_summaries")
    op.drop_table("non_finite_metrics")
