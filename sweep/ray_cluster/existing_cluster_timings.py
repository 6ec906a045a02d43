"""Waits and time limits of a service on an existing Ray cluster; scheduler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExistingClusterTimings:
    """Waits and time limits of `ExistingClusterDevices` and `NodeSupervisors`, in seconds."""

    check_interval_s: float = 0.2  # between two checks while a slot is opening or a probe waits
    opening_s: float = 120.0  # another service may take the device of a probe: then another probe is created
    resting_s: float = 5.0  # before the name of a slot is used again: its actor may still be ending
    retry_s: float = 10.0  # after an error of a probe
    avoid_s: float = 60.0  # after the supervisor of a node has failed
    watch_s: float = 5.0  # between two answers of a supervisor
    supervisor_idle_s: float = 10.0  # without a slot, after which a supervisor ends
    abandoned_s: float = 660.0  # without a call, after which a supervisor and its slots end


DEFAULT_TIMINGS = ExistingClusterTimings()
