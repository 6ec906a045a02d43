"""Number of trials of each sweep by state

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# SQLite's own; those of PostgreSQL are in `postgres_functions.sql`.
_ADD = (
    "INSERT INTO trial_counts (sweep_id, state, count) VALUES (new.sweep_id, new.state, 1)"
    " ON CONFLICT (sweep_id, state) DO UPDATE SET count = count + 1;"
)
_SUBTRACT = "UPDATE trial_counts SET count = count - 1 WHERE sweep_id = old.sweep_id AND state = old.state;"
_TRIGGERS = {
    "count_new_trials": f"AFTER INSERT ON trials BEGIN {_ADD} END",
    "count_changed_trials": (
        "AFTER UPDATE OF state, sweep_id ON trials"
        " WHEN new.state <> old.state OR new.sweep_id <> old.sweep_id"
        f" BEGIN {_SUBTRACT} {_ADD} END"
    ),
    "count_deleted_trials": f"AFTER DELETE ON trials BEGIN {_SUBTRACT} END",
}


def upgrade() -> None:
    op.create_table(
        "trial_counts",
        sa.Column("sweep_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweeps.id"]),
        sa.PrimaryKeyConstraint("sweep_id", "state"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO trial_counts (sweep_id, state, count)"
        " SELECT sweep_id, state, count(*) FROM trials GROUP BY sweep_id, state"
    )
    if op.get_bind().dialect.name == "sqlite":
        for name, what in _TRIGGERS.items():
            op.execute(f"CREATE TRIGGER {name} {what}")


def downgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for name in _TRIGGERS:
        op.execute(f"DROP TRIGGER {name}" if is_sqlite else f"DROP TRIGGER {name} ON trials")
    op.drop_table("trial_counts")
