"""Alembic's entry: runs the migrations on the connection that `podium.db.schema.migrate` opened."""

from alembic import context

from podium.db.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,  # podium.db.schema.migrate holds the transaction
)
context.run_migrations()
