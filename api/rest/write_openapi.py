"""Writes the OpenAPI document: `python -m podium.api.rest.write_openapi [FILE]`; a process of the build.

The dashboard's types are generated from it. Needs neither a service nor a database; the output is deterministic.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from podium.api.rest.app import create_app
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings


def document() -> str:
    """The document as JSON with sorted keys and a final newline."""
    nowhere = DataDirectory(Path("/nonexistent"))  # never opened: only the routes are read
    settings = ServiceSettings(str(nowhere.root), str(nowhere.root))
    app = create_app(settings, SqliteDatabase(nowhere.database))
    return json.dumps(app.openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the document atomically to the given file, or print it."""
    if len(sys.argv) > 2:
        sys.exit("usage: python -m podium.api.rest.write_openapi [FILE]")
    if len(sys.argv) == 2:
        write_atomic(Path(sys.argv[1]), document().encode())
    else:
        sys.stdout.write(document())


if __name__ == "__main__":
    main()
