"""Precisions of members, and members that span devices

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_KEPT = (
    '{"precision": "bfloat16", "reason": "built before precisions were measured", "rows": 0, "device": "", '
    '"figures": []}'
)


def upgrade() -> None:
    limit = sa.Column("max_loss_increase", sa.Float(), server_default="0.01", nullable=False)
    op.add_column("ensemble_versions", limit)
    op.add_column("ensemble_versions", sa.Column("devices", sa.Integer(), server_default="1", nullable=False))
    op.add_column("replicas", sa.Column("more_devices", sa.Text(), server_default="[]", nullable=False))
    op.add_column("ensemble_members", sa.Column("precision", sa.String(), server_default="float32", nullable=False))
    op.add_column("ensemble_members", sa.Column("measured_precision", sa.Text(), nullable=True))
    members = sa.table(
        "ensemble_members", *map(sa.column, ("ensemble_id", "version", "precision", "measured_precision"))
    )
    versions = sa.table("ensemble_versions", *map(sa.column, ("ensemble_id", "number", "precision")))
    mine = (versions.c.ensemble_id == members.c.ensemble_id) & (versions.c.number == members.c.version)
    in_bfloat16 = sa.exists().where(mine & (versions.c.precision == "bfloat16"))
    op.execute(members.update().where(in_bfloat16).values(precision="bfloat16", measured_precision=_KEPT))


def downgrade() -> None:
    op.drop_column("ensemble_members", "measured_precision")
    op.drop_column("ensemble_members", "precision")
    op.drop_column("replicas", "more_devices")
    op.drop_column("ensemble_versions", "devices")
    op.drop_column("ensemble_versions", "max_loss_increase")
