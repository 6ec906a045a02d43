"""Columns of trials for the first parameters of their sweep

Revision ID: 0018
Revises: 0017
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_COUNT = 16
_NUMBER = "param_{0}_number = (SELECT p.number FROM trial_params p WHERE p.trial_id = trials.id AND p.name = :name_{0})"
_TEXT = (
    "param_{0}_text = (SELECT CASE WHEN p.number IS NULL OR p.value IN ('true', 'false') THEN p.value END"
    " FROM trial_params p WHERE p.trial_id = trials.id AND p.name = :name_{0})"
)


def upgrade() -> None:
    for position in range(_COUNT):
        op.add_column("trials", sa.Column(f"param_{position}_number", sa.Float(), nullable=True))
        op.add_column("trials", sa.Column(f"param_{position}_text", sa.Text(), nullable=True))
    connection = op.get_bind()
    for sweep_id, spec in connection.execute(sa.text("SELECT id, spec FROM sweeps")).all():
        parameters = json.loads(spec).get("parameters") or {}
        names = [name for name, given in parameters.items() if "value" not in given][:_COUNT]
        if names:
            columns = ", ".join(each.format(position) for position in range(len(names)) for each in (_NUMBER, _TEXT))
            values = {f"name_{position}": name for position, name in enumerate(names)}
            fill = f"UPDATE trials SET {columns} WHERE sweep_id = :sweep_id"  # noqa: S608 - constants
            connection.execute(sa.text(fill), {"sweep_id": sweep_id, **values})


def downgrade() -> None:
    for position in reversed(range(_COUNT)):
        op.drop_column("trials", f"param_{position}_text")
        op.drop_column("trials", f"param_{position}_number")
