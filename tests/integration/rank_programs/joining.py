"""Joins, and prints rank, size and a mean: TIMEOUT_S."""

from __future__ import annotations

import os
import sys

from podium import parallel

with parallel.join(join_timeout_s=float(sys.argv[1])) as group:
    line = f"{group.rank} {group.size} {group.mean(group.rank)} {group.device.type}\n"
    os.write(1, line.encode())  # at once: the ranks of torchrun share the output
