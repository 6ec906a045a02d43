"""`podium` commands in messages, quoted for a shell and for the right data directory; CLI."""

from __future__ import annotations

import shlex
from pathlib import Path

from podium.sweep.runtime.layout import default_data_directory


def command(data_dir: Path | str, *words: object) -> str:
    """`podium WORDS`, with `--data-dir` unless it is the default."""
    where = Path(data_dir)
    other = where.absolute() != Path(default_data_directory()).absolute()
    return shlex.join(["podium", *map(str, words), *(["--data-dir", str(where)] if other else [])])
