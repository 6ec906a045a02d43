"""The command by which the raylet starts a Python worker: has it forked from the process template.

`python -I -S ray_worker_launcher.py SETUP_WORKER ARGUMENT...`, with the arguments of Ray's own command, which it runs
instead when there is no template or the worker needs an environment of its own. Standard library only, and no import of
Podium: a start costs 20 ms instead of two imports of Ray.

The raylet knows a worker by its ID, and reads its pid when the worker registers, so this process may exit before.
"""

import json
import os
import socket
import sys

TEMPLATE_SOCKET = "PODIUM_RAY_WORKER_TEMPLATE"  # its path, in the environment of all processes below Ray
FORKED = b"forked\n"  # sent by the forked worker before it does anything else
TIMEOUT_S = 20.0  # the template imports torch and Ray before it forks the first worker
_CONTEXT = "--serialized-runtime-env-context="


def main(timeout_s: float = TIMEOUT_S) -> None:
    """Exit once the worker exists, or become it. `timeout_s`: seconds in which the template must have forked it."""
    if not (_has_default_environment(sys.argv) and _is_forked(timeout_s)):
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])  # noqa: S606 - Ray's own command


def _has_default_environment(arguments: list[str]) -> bool:
    """Whether the worker runs in this process's environment; a runtime environment may change each part of it."""
    contexts = [argument.removeprefix(_CONTEXT) for argument in arguments if argument.startswith(_CONTEXT)]
    for context in contexts:
        changed = {name for name, value in json.loads(context or "{}").items() if value}
        if (
            changed - {"py_executable"}
            or json.loads(context or "{}").get("py_executable", sys.executable) != sys.executable
        ):
            return False
    return "--language=PYTHON" in arguments


def _is_forked(timeout_s: float) -> bool:
    """Request the worker, and wait until it exists.

    After the timeout no worker is forked: it exits when it cannot confirm its start.
    """
    path = os.environ.get(TEMPLATE_SOCKET)
    if path is None:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(path)
            body = json.dumps({"arguments": sys.argv[1:], "environment": dict(os.environ)}).encode() + b"\n"
            sent = socket.send_fds(connection, [body], [0, 1, 2])
            if sent < len(body):  # otherwise it raises when the worker has already answered and closed
                connection.sendall(body[sent:])
            return connection.recv(len(FORKED)) == FORKED
        except TimeoutError:
            connection.shutdown(socket.SHUT_RD)
            connection.setblocking(False)
            return connection.recv(len(FORKED)) == FORKED
        except OSError as error:
            print(f"no worker was forked from {path}: {error}", file=sys.stderr)  # the log of the raylet
            return False


if __name__ == "__main__":
    main()
