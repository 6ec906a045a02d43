"""Numbers of trials that bound the time of a proposal. Scheduler and search processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """In trials."""

    gp_ends_at: int = 500  # finished trials; with more, a proposal of GP takes seconds, and TPE proposes instead
    tpe_window: int = 8192  # the newest trials; older ones have a kernel in TPE only among the best


LIMITS = SearchLimits()
