"""Runs the process template and the agent of a node of an existing Ray cluster under a guardian.

`python -P -m podium.sweep.ray_cluster.existing_cluster_node_guardian FILE`, started by the node supervisor, an actor.
It ends on SIGTERM, or when the supervisor exits: end-of-file on standard input. Nothing of the service is left on the
node then but its cache.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from filelock import FileLock, Timeout

from podium.sweep.ray_cluster.ray_head_guardian import PREDECESSOR_S, guard
from podium.sweep.runtime.joined_node_settings import NodeSettings
from podium.sweep.runtime.process_title import name_process
from podium.sweep.runtime.serve_environment_for_trials import WITHHOLD_CREDENTIALS

AGENT = "podium.sweep.node_agent.main"


def main() -> None:
    """Wait until an earlier guardian of this data directory has ended, then serve until the supervisor ends."""
    name_process("podium-guardian")
    os.umask(0o077)
    settings = NodeSettings.load(Path(sys.argv[1]))
    if settings.artifact_url:
        os.environ[WITHHOLD_CREDENTIALS] = "1"
    try:
        with FileLock(settings.data.ray_lock).acquire(timeout=PREDECESSOR_S):
            status = guard(settings.runtime, agent=AGENT)
            shutil.rmtree(settings.runtime.root, ignore_errors=True)
    except Timeout:
        sys.exit(f"another node supervisor uses {settings.data_dir}; each node of a host needs a folder of its own")
    sys.exit(status)


if __name__ == "__main__":
    main()
