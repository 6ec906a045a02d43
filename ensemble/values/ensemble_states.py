"""The states of an ensemble and of its members' replicas; all processes."""

from __future__ import annotations

from enum import StrEnum


class EnsembleState(StrEnum):
    """The state of an ensemble."""

    BUILDING = "building"
    WARMING = "warming"
    READY = "ready"
    DEGRADED = "degraded"
    BELOW_QUORUM = "below_quorum"
    STOPPED = "stopped"  # on request; can be started again
    RETIRED = "retired"  # permanently


SERVING_STATES = frozenset({EnsembleState.READY, EnsembleState.DEGRADED})
RUNNING_STATES = frozenset(EnsembleState) - {EnsembleState.STOPPED, EnsembleState.RETIRED}


class MemberState(StrEnum):
    """The state of a replica; `suspect`, `open` and `half_open` are set by the gateway only."""

    STARTING = "starting"
    WARMING = "warming"
    READY = "ready"
    SUSPECT = "suspect"  # it failed or was late recently
    OPEN = "open"  # its circuit breaker is open: it receives no requests
    HALF_OPEN = "half_open"  # a probe is in flight
    RESTARTING = "restarting"  # its process has exited; the host starts another one
    FAILED = "failed"  # it cannot be loaded; a restart would not help
    STOPPED = "stopped"


# These have a device or wait for one.
HOLDING_STATES = frozenset(MemberState) - {MemberState.FAILED, MemberState.STOPPED}
