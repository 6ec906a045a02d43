"""Index the events that begin something in a sweep

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

STARTS = "kind IN ('trial.running', 'sweep.queued', 'sweep.running')"


def upgrade() -> None:
    op.create_index("ix_events_starts", "events", ["sweep_id"], unique=False, sqlite_where=sa.text(STARTS))


def downgrade() -> None:
    op.drop_index("ix_events_starts", table_name="events")
