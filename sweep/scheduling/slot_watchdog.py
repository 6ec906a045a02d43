"""Which slots are stuck: they do not speak any more, or do not keep the clocks of what they run; pure, scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from podium.sweep.scheduling.device_ledger import Slot
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.spec.limits import MAX_GRACE_S, SpecLimits

LOOK_S = 1.0
AWAY_S = 5.0  # without a turn for so long, this process was stopped or held up
SILENT_S = 25.0  # a slot speaks every 10 s, whatever happens
MARGIN_S = 15.0  # a slot keeps the clocks of its attempt; one that is so much late does not


class SlotWatch:
    """Judges slots, but not in the moments after this process itself was away: what they said may be unread."""

    def __init__(self) -> None:
        self._looked_s = 0.0
        self._judges_from_s = 0.0

    def stuck(
        self, slots: Iterable[Slot], limits_of: Callable[[LiveTrial], SpecLimits], now_s: float
    ) -> Iterator[tuple[Slot, str]]:
        """The slots to end, and why; each comes again only after another such time."""
        away_s, due = now_s - self._looked_s, now_s - self._looked_s >= LOOK_S
        if not due:
            return
        self._looked_s = now_s
        if away_s > AWAY_S:
            self._judges_from_s = now_s + AWAY_S
        if now_s < self._judges_from_s:
            return
        for slot in slots:
            if not slot.lost and (why := _what_is_wrong(slot, limits_of, now_s)):
                slot.sent_s = slot.ending_since_s = now_s
                yield slot, why


def _what_is_wrong(slot: Slot, limits_of: Callable[[LiveTrial], SpecLimits], now_s: float) -> str:
    if not slot.answered and now_s - slot.sent_s > SILENT_S:
        return "is silent"
    return "keeps no clock" if now_s > _due_to_end_s(slot, limits_of) + MARGIN_S else ""


def _due_to_end_s(slot: Slot, limits_of: Callable[[LiveTrial], SpecLimits]) -> float:
    """When what runs on a slot must have ended, by its limits; never, where it has none."""
    if slot.ending is not None:
        return slot.ending_since_s + MAX_GRACE_S
    if slot.trial is None:
        return math.inf
    limits = limits_of(slot.trial)
    return math.inf if limits.trial_s is None else slot.trial.placed_s + limits.trial_s + limits.grace_s
