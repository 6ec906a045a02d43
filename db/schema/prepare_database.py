"""Prepares the database of a service: creates or upgrades its tables; a process that `podium serve` starts.

`python -P -m podium.db.schema.prepare_database DATA_DIR URL_FILE` prints one line of JSON, or an error message and
exits 3. URL_FILE is empty for SQLite.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict
from pathlib import Path

from podium.db.schema.database_url import database_url
from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.migrate import MigrationResult, migrate
from podium.sweep.runtime import fail_points
from podium.sweep.runtime.layout import DataDirectory


def prepare(data: DataDirectory, url_file: Path | None) -> MigrationResult:
    """Create or upgrade the tables. `url_file`: with the URL of a PostgreSQL database. Raises `DatabaseError`."""
    if url_file is None:
        return migrate(data.database)
    from podium.db.schema.postgres_schema import migrate_postgres  # only with PostgreSQL: imports psycopg

    return migrate_postgres(database_url(url_file))


def main() -> None:
    """Prepare the database of the data directory that the command line names."""
    fail_points.name_component("migrate")
    logging.basicConfig(level=logging.WARNING)
    data, file = sys.argv[1:]
    with exit_with_message():
        print(json.dumps(asdict(prepare(DataDirectory(Path(data)), Path(file) if file else None))))


if __name__ == "__main__":
    main()
