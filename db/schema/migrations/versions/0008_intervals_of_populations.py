"""Intervals of populations

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "intervals",
        sa.Column("trial_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("donor_id", sa.Integer(), nullable=True),
        sa.Column("donor_interval", sa.Integer(), nullable=True),
        sa.Column("first_attempt", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("removed", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["donor_id"], ["trials.id"], name=op.f("fk_intervals_donor_id_trials")),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_intervals_trial_id_trials")),
        sa.PrimaryKeyConstraint("trial_id", "number", name=op.f("pk_intervals")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("intervals")
