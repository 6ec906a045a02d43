"""What attempts used: processor, memory, storage, GPU

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


def downgrade() -> None:
    op.drop_table("attempt_usage")
    for table, name in _ADDED:
        op.drop_column(table, name)
