"""Metric points without a foreign key on PostgreSQL: that of their summaries holds for them

Revision ID: 0017
Revises: 0016
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_NAME = "fk_metrics_trial_id_trials"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f(_NAME), "metrics", type_="foreignkey")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.create_foreign_key(op.f(_NAME), "metrics", "trials", ["trial_id"], ["id"])
