"""Add the nodes

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "nodes",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("joined_at", sa.Float(), nullable=False),
        sa.Column("reported_at", sa.Float(), nullable=False),
        sa.Column("podium_version", sa.String(), nullable=False),
        sa.Column("python_version", sa.String(), nullable=False),
        sa.Column("ray_version", sa.String(), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("disk_free_bytes", sa.BigInteger(), nullable=False),
        sa.Column("cache_bytes", sa.BigInteger(), nullable=False),
        sa.Column("clock_offset_s", sa.Float(), nullable=False),
        sa.Column("uploads_waiting", sa.Integer(), nullable=False),
        sa.Column("leaving", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("leave_now", sa.Boolean(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_nodes")),
    )


def downgrade() -> None:
    op.drop_table("nodes")
