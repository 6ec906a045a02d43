"""The limits of the aggregator; gateway process."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class AggregatorLimits:
    """How many requests may be in flight, in total and for each replica, and how many are hedged.

    The limits of one gateway process. Limits on bytes bound its memory; limits on requests bound the queues of the
    members, which all gateway processes share.
    """

    requests: int = 1024  # in flight, in total
    request_bytes: int = 512 << 20
    replica_requests: int = 256  # that a replica has not answered, whether a client still waits for them or not
    replica_bytes: int = 128 << 20
    hedge_share: float = 0.05  # of the requests sent
    replies_per_quantile: int = 16  # a link computes its p95 latency again after this many replies

    def divided(self, gateways: int) -> AggregatorLimits:
        """The limits of one of several gateway processes: its part of the requests, rounded up."""
        return replace(
            self,
            requests=math.ceil(self.requests / gateways),
            replica_requests=math.ceil(self.replica_requests / gateways),
        )
