"""The URL of a PostgreSQL database, which holds a password: from a file or the environment, never from an argument.

Every process that opens such a database.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from podium.sweep.values.errors import DatabaseError

VARIABLE = "PODIUM_DATABASE_URL"
EXAMPLE = "postgresql://USER:PASSWORD@HOST/DATABASE"
# A part of the password would be taken for the host or the port, and appear in messages.
_UNENCODED = re.compile(r"@.*@|/.*@|%(?![0-9A-Fa-f]{2})")
_PREFIXES = ("postgresql://", "postgres://")


def database_url(file: Path | None = None) -> str:
    """The URL in the file, by default that in the environment. Raises `DatabaseError`, which does not repeat it."""
    if file is None:
        return checked(os.environ.get(VARIABLE, ""), f"${VARIABLE}")
    try:
        status, content = file.stat(), file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise DatabaseError(f"--database-url-file {file}: {getattr(error, 'strerror', None) or error}") from error
    # As libpq reads keys: the group may read a file of root, such as a mounted secret of Kubernetes.
    mounted = status.st_uid == 0 and os.geteuid() != 0
    if stat.S_IMODE(status.st_mode) & (0o037 if mounted else 0o077):
        raise DatabaseError(f"--database-url-file {file}: other users may read it; run `chmod 600 {file}`")
    return checked(content, f"--database-url-file {file}")


def checked(text: str, place: str) -> str:
    """The URL in `text`, from `place`. Raises `DatabaseError`, which does not repeat it."""
    url = text.strip()
    if not url:
        raise DatabaseError(f"{place} is empty; write {EXAMPLE} to a file that only you may read, and name the file")
    if not url.startswith(_PREFIXES) or any(character.isspace() for character in url):
        raise DatabaseError(f"{place}: write one line, {EXAMPLE}")
    if _UNENCODED.search(url.partition("://")[2].partition("?")[0]):
        raise DatabaseError(f"{place}: percent-encode special characters of the password, such as @ as %40, / as %2F")
    return url
