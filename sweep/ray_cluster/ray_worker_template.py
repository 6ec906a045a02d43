"""Forks Ray's Python workers from a process that has imported Ray; a child of the process template.

The process template forks this process before it imports torch, which no worker needs. Ray reads some variables only
when it is imported, among them the pid of the raylet, so it is imported with the environment of the first request. What
Ray itself imports is imported before, while Ray starts: two thirds of the time. Slot relays are such workers, and the
slots of an existing Ray cluster.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from podium.sweep.process_template.template_process import WORKER_PID, close_all, receive_line
from podium.sweep.ray_cluster.ray_worker_launcher import FORKED
from podium.sweep.runtime import huge_page_collapse
from podium.sweep.runtime.fork_without_hooks import count_threads
from podium.sweep.runtime.garbage_collection import without_collection
from podium.sweep.runtime.process_title import name_process

# Imported before the first request. Most are dependencies of Ray, and another version may not have them. Ray's worker
# imports pyarrow, pydantic and Starlette, if they are installed, when it receives its first arguments.
_AHEAD = (
    "numpy",
    "asyncio",
    "google.protobuf.json_format",
    "jsonschema",
    "psutil",
    "requests",
    "yaml",
    "pyarrow.json",
    "pydantic.main",
    "pydantic.types",
    "pydantic.v1",
    "starlette.datastructures",
    "zoneinfo",
    "podium.sweep.slots.slot",
)
# What Ray's worker program and the slot import.
_IMPORTS = (
    "ray",
    "ray._private.node",
    "ray._private.async_compat",
    "ray._private.runtime_env.setup_hook",
    "podium.sweep.ray_cluster.ray_slot_actor",
)
WORKER_TEMPLATE = "podium-ray-tmpl"  # the name of this process
_JOB = "RAY_JOB_ID"
_NO_JOB = "ffffffff"  # as for a worker that the raylet starts ahead, and assigns to a job later
_WORKER_PROGRAM = "default_worker.py"
_DROPPED = ("--serialized-runtime-env-context=", "--language=")


def run_forked(_: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    """Serve requests until the process template exits, which ends this process.

    Args:
        descriptors: The listening socket, and the pipe to which each worker writes its pid.
        owner: Closed; workers exit with the raylet.
    """
    os.close(owner)
    name_process(WORKER_TEMPLATE)
    requests = socket.socket(fileno=descriptors[0])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps workers
    import_dependencies()
    imported = False
    while True:
        client, _ = requests.accept()
        try:
            arguments, environment, standard = _receive(client)
        except (OSError, ValueError, KeyError, TypeError):
            client.close()
            continue
        if not imported:
            _import_ray(environment)
            imported = True
        with suppress(OSError):  # too many processes: the launcher runs Ray's own command
            if os.fork() == 0:
                requests.close()
                _become_worker(client, arguments, environment=environment, standard=standard, pids=descriptors[1])
        client.close()
        close_all(standard)


def import_dependencies() -> None:
    """Import what Ray, its workers and the slot import, except for Ray itself."""
    with without_collection():
        for name in _AHEAD:
            with suppress(ImportError):
                importlib.import_module(name)


def _import_ray(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update({**environment, _JOB: _NO_JOB})
    with without_collection():
        for name in _IMPORTS:
            importlib.import_module(name)
    if (threads := count_threads()) > 1:
        raise RuntimeError(f"{threads} threads after the import of Ray; fork() would lose them")
    huge_page_collapse.collapse_memory()


def _receive(client: socket.socket) -> tuple[list[str], dict[str, str], list[int]]:
    line, standard = receive_line(client)
    try:
        request: dict[str, Any] = json.loads(line)
        return request["arguments"], request["environment"], standard
    except BaseException:
        close_all(standard)
        raise


def _become_worker(
    client: socket.socket, arguments: list[str], environment: dict[str, str], standard: list[int], pids: int
) -> NoReturn:
    """Run Ray's worker program as `__main__`, as the raylet's own command would."""
    status = 70
    try:
        name_process("ray-worker")
        os.setsid()  # when a worker exits, the raylet kills its process group
        os.write(pids, WORKER_PID.pack(os.getpid()))
        os.close(pids)
        client.sendall(FORKED)  # raises if the launcher no longer waits, and starts the worker itself
        client.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = worker_arguments(arguments)
        with suppress(SystemExit):
            runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except BrokenPipeError:
        status = 0
    except Exception:  # noqa: BLE001 - the last handler of this process
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def worker_arguments(arguments: Sequence[str]) -> list[str]:
    """The worker program and its arguments, without those of the setup program that comes before it."""
    program = next(i for i, argument in enumerate(arguments) if argument.endswith(_WORKER_PROGRAM))
    return [argument for argument in arguments[program:] if not argument.startswith(_DROPPED)]
