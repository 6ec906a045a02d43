"""How the programs of `db` end when they cannot: one sentence on standard error, status 3."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from podium.sweep.values.errors import PodiumError


@contextmanager
def said_as_a_sentence() -> Iterator[None]:
    """Ends the process when what is done within raises a `PodiumError`."""
    try:
        yield
    except PodiumError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
