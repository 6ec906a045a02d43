"""Leases of the service that leads and of its ensemble host, and the services that stand by

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "host_lease",
        sa.Column("id", INTEGER, nullable=False),
        sa.Column("epoch", INTEGER, nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("taken_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host_lease")),
    )
    op.create_table(
        "leader_lease",
        sa.Column("id", INTEGER, nullable=False),
        sa.Column("epoch", INTEGER, nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("ray", sa.String(), nullable=False),
        sa.Column("taken_at", sa.Float(), nullable=False),
        sa.Column("renewed_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leader_lease")),
    )
    op.create_table(
        "standbys",
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("holder", name=op.f("pk_standbys")),
    )


def downgrade() -> None:
    for table in ("standbys", "leader_lease", "host_lease"):
        op.drop_table(table)
