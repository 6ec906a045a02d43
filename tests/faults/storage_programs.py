"""Programs that the storage tests run in separate processes, to be refused, traced or killed."""

from __future__ import annotations

# Writes numbered events, each durable, and prints the result of each.
WRITE = """
import sys
from pathlib import Path
from sqlalchemy import text
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.sweep.values.errors import DatabaseError

database = SqliteDatabase(Path(sys.argv[1]))
for number in range(12):
    try:
        with database.write() as connection:
            connection.execute(text("INSERT INTO events (at, kind) VALUES (:at, 'written')"), {"at": number})
        print("written")
    except DatabaseError as error:
        print(type(error).__name__)
database.close()
"""

# Commits 150 numbered events (SQLite would reset its log after more), prints each, and waits for a line.
COMMIT = """
import sys
from pathlib import Path
from sqlalchemy import text
from podium.db.schema.sqlite_database import SqliteDatabase

database = SqliteDatabase(Path(sys.argv[1]))
for number in range(150):
    with database.write() as connection:
        connection.execute(text("INSERT INTO events (at, kind) VALUES (:at, 'written')"), {"at": number})
    print(number, flush=True)
sys.stdin.readline()
database.close()
"""

# Locks the database until it reads a line.
LOCK = """
import contextlib, sys
from pathlib import Path
from podium.db.schema.sqlite_database import SqliteDatabase, connect

with contextlib.closing(connect(Path(sys.argv[1]), "rw")) as connection:
    connection.execute("BEGIN EXCLUSIVE")
    print("locked", flush=True)
    sys.stdin.readline()
"""

# Migrates, and is killed before the statement with this number.
MIGRATE = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Engine, event
from podium.db.schema import migrate, schema_version

config = migrate.alembic_config()
config.set_main_option("script_location", sys.argv[2])
migrate.alembic_config = lambda: config
known = (*schema_version.known_schemas(), "next")
schema_version.known_schemas = lambda: known
left = int(sys.argv[3])

@event.listens_for(Engine, "before_cursor_execute")
@event.listens_for(Engine, "commit")
def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

migrate.migrate(Path(sys.argv[1]))
"""

# A migration after the newest.
SECOND = '''
"""One column, one table and one row more."""

from alembic import op
import sqlalchemy as sa

revision = "next"
down_revision = "BEFORE"

def upgrade():
    op.add_column("events", sa.Column("more", sa.Text))
    op.create_table("more", sa.Column("id", sa.Integer, primary_key=True))
    op.execute("INSERT INTO more (id) VALUES (1)")
'''
