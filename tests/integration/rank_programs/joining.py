"""Joins, and prints rank, size and a mean: TIMEOUT_S."""

from __future__ import annotations

import sys

from podium import parallel

with parallel.join(join_timeout_s=float(sys.argv[1])) as group:
    print(group.rank, group.size, group.mean(group.rank), group.device.type)
