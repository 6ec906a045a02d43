"""Joins, and prints rank, size and a mean: TIMEOUT_S [BLOCKS [the network interface of rank 1]]."""

from __future__ import annotations

import os
import sys

from podium import parallel

if len(sys.argv) > 3 and os.environ["RANK"] == "1":
    os.environ["GLOO_SOCKET_IFNAME"] = sys.argv[3]
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
    with parallel.join(join_timeout_s=float(sys.argv[1])) as group:
        line = f"{group.rank} {group.size} {group.mean(group.rank)} {group.device.type}\n"
        os.write(1, line.encode())  # at once: the ranks of torchrun share the output
