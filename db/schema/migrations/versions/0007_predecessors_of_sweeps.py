"""Predecessors of sweeps

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sweeps", sa.Column("held", sa.Boolean(), server_default="0", nullable=False))
    op.add_column("sweeps", sa.Column("fixed", sa.Text(), nullable=True))
    op.add_column("sweeps", sa.Column("submitted_spec", sa.Text(), nullable=True))
    op.create_table(
        "sweep_predecessors",
        sa.Column("sweep_id", sa.Integer(), nullable=False),
        sa.Column("predecessor_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["predecessor_id"], ["sweeps.id"], name=op.f("fk_sweep_predecessors_predecessor_id_sweeps")
        ),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweeps.id"], name=op.f("fk_sweep_predecessors_sweep_id_sweeps")),
        sa.PrimaryKeyConstraint("sweep_id", "predecessor_id", name=op.f("pk_sweep_predecessors")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_sweep_predecessors_predecessor_id"), "sweep_predecessors", ["predecessor_id"])


def downgrade() -> None:
    op.drop_table("sweep_predecessors")
    op.drop_column("sweeps", "submitted_spec")
    op.drop_column("sweeps", "fixed")
    op.drop_column("sweeps", "held")
