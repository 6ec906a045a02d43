"""Asks the database whether this scheduler may still act on slots; scheduler process."""

from __future__ import annotations

import logging
from typing import Protocol

from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError

log = logging.getLogger("podium.scheduler")


class _Confirming(Protocol):
    def confirm(self) -> None: ...


def is_confirmed(recorder: _Confirming) -> bool:
    """Whether no other scheduler has taken over; False also while the database cannot tell.

    Raises `FencedError` if another one has, and `DamagedError`.
    """
    try:
        recorder.confirm()
    except (FencedError, DamagedError):
        raise
    except DatabaseError as error:
        log.error("cannot confirm the lease, so stuck slots are not killed yet: %s", error)
        return False
    return True
