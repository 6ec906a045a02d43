"""Alembic's entry point: runs the migrations on the connection of `podium.db.schema.migrate`; its process."""

from alembic import context

from podium.db.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,  # podium.db.schema.migrate holds the transaction
)
context.run_migrations()
