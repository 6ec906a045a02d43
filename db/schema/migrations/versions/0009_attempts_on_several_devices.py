"""Attempts on several devices

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "attempt_ranks",
        sa.Column("trial_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("device_id", sa.String(), nullable=False),
        sa.Column("node", sa.String(), server_default="", nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("state", sa.String(), nullable=True),
        sa.Column("cause", sa.String(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("exit", sa.String(), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("event", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_attempt_ranks_trial_id_trials")),
        sa.PrimaryKeyConstraint("trial_id", "number", "rank", name=op.f("pk_attempt_ranks")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_attempt_ranks_device_id_started_at", "attempt_ranks", ["device_id", "started_at"], unique=False)
    op.add_column("attempts", sa.Column("devices", sa.Float(), server_default="1", nullable=False))


def downgrade() -> None:
    op.drop_column("attempts", "devices")
    op.drop_index("ix_attempt_ranks_device_id_started_at", table_name="attempt_ranks")
    op.drop_table("attempt_ranks")
