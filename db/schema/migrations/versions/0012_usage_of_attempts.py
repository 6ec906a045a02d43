"""What attempts used, and notifications

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_PEAKS = ("peak_memory_bytes", "peak_gpu_memory_bytes")
_ADDED = (
    *(("attempts", name) for name in (*_PEAKS, "memory_limit_bytes", "gpu_memory_limit_bytes")),
    *(("attempt_ranks", name) for name in _PEAKS),
)


def upgrade() -> None:
    for table, name in _ADDED:
        op.add_column(table, sa.Column(name, sa.BigInteger(), nullable=True))
    op.create_table(
        "attempt_usage",
        sa.Column("trial_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("span_s", sa.Float(), nullable=False),
        sa.Column("cpu_cores", sa.Float(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("read_bytes", sa.BigInteger(), nullable=False),
        sa.Column("written_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpu_percent", sa.Float(), nullable=True),
        sa.Column("gpu_memory_bytes", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_attempt_usage_trial_id_trials")),
        sa.PrimaryKeyConstraint("trial_id", "number", "rank", "at", name=op.f("pk_attempt_usage")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "notifications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("changed_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["event_id"], ["events.id"], name=op.f("fk_notifications_event_id_events")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
        sa.UniqueConstraint("event_id", "kind", "target", name=op.f("uq_notifications_event_id_kind_target")),
    )
    op.create_index(
        "ix_notifications_target_state_due_at", "notifications", ["target", "state", "due_at"], unique=False
    )
    op.create_table(
        "notification_cursor",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification_cursor")),
    )


def downgrade() -> None:
    op.drop_table("notification_cursor")
    op.drop_index("ix_notifications_target_state_due_at", table_name="notifications")
    op.drop_table("notifications")
    op.drop_table("attempt_usage")
    for table, name in _ADDED:
        op.drop_column(table, name)
