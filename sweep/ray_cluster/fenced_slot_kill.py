"""Kills slots, after it is confirmed that no other scheduler has taken over; scheduler."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from podium.sweep.ray_cluster.daemon_timer import call_later
from podium.sweep.ray_cluster.slot_actors import SlotActor
from podium.sweep.values.errors import DatabaseError, FencedError

log = logging.getLogger("podium.slots")
Find = Callable[[], SlotActor | None]


class FencedSlotKill:
    """Kills the slots of one scheduler."""

    def __init__(self, confirm: Callable[[], None], *, epoch: int, retry_s: float, closing: threading.Event) -> None:
        """Nothing is killed yet.

        Args:
            confirm: Called in any thread before a slot is killed: Ray would also kill it for a scheduler that was
                replaced. Raises `FencedError` then, and `DatabaseError` if that is unknown.
            epoch: Of this scheduler.
            retry_s: Seconds between two tries while the database cannot tell.
            closing: Set when the scheduler ends: then there is no further try.
        """
        self._confirm = confirm
        self._epoch = epoch
        self._retry_s = retry_s
        self._closing = closing

    def kill(self, find: Find) -> None:
        """Kill a slot now, if `find` finds it. Raises what `confirm` raises."""
        self._confirm()
        slot = find()
        while slot is not None:
            self._confirm()  # to find or to kill a slot may have taken seconds
            slot = slot.kill(self._epoch)

    def kill_later(self, name: str, find: Find) -> None:
        """Kill a slot in a thread of its own: in a callback of Ray, `ray.kill` would wait for itself forever."""
        call_later(0.0, lambda: self._kill_unless_fenced(name, find()))

    def _kill_unless_fenced(self, name: str, slot: SlotActor | None) -> None:
        """While the database cannot tell, try again: until then this slot, and not a new one of its name, may work."""
        try:
            while slot is not None:
                self._confirm()
                slot = slot.kill(self._epoch)
        except FencedError as error:
            log.error("%s is not killed: %s", name, error)
        except DatabaseError as error:
            log.warning("%s is not killed yet: %s", name, error)
            if not self._closing.is_set():
                call_later(self._retry_s, lambda: self._kill_unless_fenced(name, slot))
