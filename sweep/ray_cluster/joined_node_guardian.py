"""Runs the raylet, the agent and the process template of a node under a guardian, like `ray_head_guardian` on the head.

`python -P -m podium.sweep.ray_cluster.joined_node_guardian FILE`. It ends on SIGTERM, when `podium node join` exits
(end-of-file on standard input), or when the raylet exits: the head has stopped, or has declared this node dead.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from podium.sweep.ray_cluster.ray_head_guardian import guard
from podium.sweep.runtime.joined_node_settings import AGENT_SOCKET, NODE_ROOT, NodeSettings
from podium.sweep.runtime.process_title import name_process
from podium.sweep.runtime.serve_environment_for_trials import WITHHOLD_CREDENTIALS


def main() -> None:
    """Serve until SIGTERM or until the raylet ends."""
    name_process("podium-guardian")
    settings = NodeSettings.load(Path(sys.argv[1]))
    os.environ[NODE_ROOT] = settings.data_dir
    if settings.artifact_url:
        os.environ[WITHHOLD_CREDENTIALS] = "1"
    agent = ""
    if settings.url:
        agent = "podium.sweep.node_agent.main"
        os.environ[AGENT_SOCKET] = str(settings.runtime.agent_socket)
    sys.exit(guard(settings.runtime, "podium.sweep.ray_cluster.node_raylet", agent=agent, ends_with_stdin=bool(agent)))


if __name__ == "__main__":
    main()
