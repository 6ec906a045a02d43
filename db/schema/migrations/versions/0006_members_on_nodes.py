"""Members on nodes

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("member_port", sa.Integer(), server_default="0", nullable=False))
    op.add_column("nodes", sa.Column("certificate", sa.String(), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("nodes", "certificate")
    op.drop_column("nodes", "member_port")
