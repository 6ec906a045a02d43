"""Error exit of the programs of `db`: one message on standard error, status 3."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from podium.sweep.values.errors import PodiumError


@contextmanager
def exit_with_message() -> Iterator[None]:
    """Exit with the message of a `PodiumError` that is raised in the block."""
    try:
        yield
    except PodiumError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
