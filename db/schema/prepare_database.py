"""Prepares the database of a service: creates or upgrades its tables; a process that `podium serve` starts.

`python -P -m podium.db.schema.prepare_database DATA_DIR URL_FILE REMEMBERED` prints one line of JSON, or an error
message and exits 3. URL_FILE is empty for SQLite. REMEMBERED is what the data directory records of a PostgreSQL
database: its URL file, or nothing if that is removed when the service stops.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict
from pathlib import Path

from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.migrate import MigrationResult, migrate
from podium.db.schema.postgres_url_source import database_url
from podium.sweep.runtime import fail_points
from podium.sweep.runtime.layout import DataDirectory


def prepare(data: DataDirectory, url_file: Path | None, remembered: str = "") -> MigrationResult:
    """Create or upgrade the tables, and bind a PostgreSQL database to the data directory. Raises `DatabaseError`.

    Args:
        data: The data directory of the service.
        url_file: With the URL of a PostgreSQL database; None: SQLite's file in the data directory.
        remembered: The URL file that the data directory records.
    """
    if url_file is None:
        return migrate(data.database)
    from podium.db.schema.postgres_binding import bind, check  # only with PostgreSQL: imports psycopg
    from podium.db.schema.postgres_schema_upgrade import migrate_postgres

    url = database_url(url_file)
    check(data, url)
    done = migrate_postgres(url)
    bind(data, url, remembered)
    return done


def main() -> None:
    """Prepare the database of the data directory that the command line names."""
    fail_points.name_component("migrate")
    logging.basicConfig(level=logging.WARNING)
    data, file, remembered = sys.argv[1:]
    with exit_with_message():
        print(json.dumps(asdict(prepare(DataDirectory(Path(data)), Path(file) if file else None, remembered))))


if __name__ == "__main__":
    main()
