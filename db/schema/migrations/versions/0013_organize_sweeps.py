"""Projects, descriptions, tags, owners, stars and the archive of sweeps; saved views

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("description", "project", "owner"):
        op.add_column("sweeps", sa.Column(name, sa.Text(), server_default="", nullable=False))
    op.add_column("sweeps", sa.Column("archived_at", sa.Float(), nullable=True))
    op.create_index(op.f("ix_sweeps_project"), "sweeps", ["project"])
    op.create_table(
        "sweep_tags",
        sa.Column("sweep_id", sa.Integer(), nullable=False),
        sa.Column("tag", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweeps.id"], name=op.f("fk_sweep_tags_sweep_id_sweeps")),
        sa.PrimaryKeyConstraint("sweep_id", "tag", name=op.f("pk_sweep_tags")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_sweep_tags_tag", "sweep_tags", ["tag"])
    op.create_table(
        "sweep_stars",
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("sweep_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweeps.id"], name=op.f("fk_sweep_stars_sweep_id_sweeps")),
        sa.PrimaryKeyConstraint("user", "sweep_id", name=op.f("pk_sweep_stars")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "saved_views",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tab", sa.String(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("changed_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_views")),
        sa.UniqueConstraint("project", "name", name=op.f("uq_saved_views_project_name")),
    )


def downgrade() -> None:
    op.drop_table("saved_views")
    op.drop_table("sweep_stars")
    op.drop_index("ix_sweep_tags_tag", "sweep_tags")
    op.drop_table("sweep_tags")
    op.drop_index(op.f("ix_sweeps_project"), "sweeps")
    for name in ("archived_at", "owner", "project", "description"):
        op.drop_column("sweeps", name)
