"""What nodes have left, nodes that are refused, and drained GPUs by their UUID

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_ADDED = {"left_folders": "[]", "left_processes": "[]", "refused": ""}  # to `nodes`, with their defaults


def upgrade() -> None:
    for name, default in _ADDED.items():
        op.add_column("nodes", sa.Column(name, sa.Text(), server_default=default, nullable=False))
    _make_aside_again(
        "SELECT device_id, coalesce((SELECT uuid FROM devices WHERE id = device_id), '') AS uuid, reason, at"
        " FROM devices_aside",
        sa.Column("uuid", sa.String(), server_default="", nullable=False),
    )


def downgrade() -> None:
    _make_aside_again("SELECT device_id, min(reason) AS reason, min(at) AS at FROM devices_aside GROUP BY device_id")
    for name in _ADDED:
        op.drop_column("nodes", name)


def _make_aside_again(rows: str, *added: sa.Column[str]) -> None:
    """Make the table again with these rows, and with these columns in its key: SQLite cannot change a key."""
    op.execute(f"CREATE TABLE aside_copy AS {rows}")
    op.drop_table("devices_aside")
    op.create_table(
        "devices_aside",
        sa.Column("device_id", sa.String(), nullable=False),
        *added,
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("device_id", *(column.name for column in added), name=op.f("pk_devices_aside")),
    )
    names = ", ".join(("device_id", *(column.name for column in added), "reason", "at"))
    op.execute(f"INSERT INTO devices_aside ({names}) SELECT {names} FROM aside_copy")  # noqa: S608 - constants
    op.execute("DROP TABLE aside_copy")
