"""Forks programs from a process that has imported torch: `python -m tests.rank_template SOCKET`, a file descriptor.

An import of torch with `DistributedDataParallel` takes seconds of processor time, more than most programs of ranks.
Each request is one message of JSON: the `command`, the script and its arguments; `environment`; `folder`, for the
files `output` and `errors`. Each answer is one message: the process id, and later the process id with its `status`.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any

PRELOADED = (
    "podium.parallel",
    "torch._dynamo",  # for DistributedDataParallel
    "torch.distributed.nn.functional",
    "torch.distributed.pipelining",
    "torch.nn.parallel.distributed",
)
CHECK_S = 0.02
MESSAGE_BYTES = 1 << 16


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork until the other end closes; None then. In a child, its request."""
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([connection], [], [], CHECK_S if running else None)
        for pid in sorted(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                running.remove(pid)
                connection.send(json.dumps({"pid": pid, "status": os.waitstatus_to_exitcode(status)}).encode())
        if not ready:
            continue
        message = connection.recv(MESSAGE_BYTES)
        if not message:
            return None
        pid = os.fork()
        if pid == 0:
            os.setsid()
            request: dict[str, Any] = json.loads(message)
            return request
        while os.getpgid(pid) != pid:  # a signal to its group must reach it from now on
            time.sleep(0.001)
        running.add(pid)
        connection.send(json.dumps({"pid": pid}).encode())


def become(request: dict[str, Any]) -> None:
    """Run the program of a request as `python SCRIPT ARGUMENTS...` would."""
    for descriptor, name in ((1, "output"), (2, "errors")):
        with (Path(request["folder"]) / name).open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    os.environ.update(request["environment"])
    script, *arguments = request["command"]
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    for module in PRELOADED:
        __import__(module)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        request = serve(connection)
    if request is not None:
        become(request)
