"""Ray's workers are forked from a template; every other case runs Ray's own command."""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from podium.sweep.ray_cluster import ray_worker_launcher
from podium.sweep.ray_cluster.ray_head_process import with_worker_launcher
from podium.sweep.ray_cluster.ray_worker_launcher import FORKED, TEMPLATE_SOCKET, TIMEOUT_S
from podium.sweep.ray_cluster.ray_worker_template import worker_arguments

PYTHON = "--language=PYTHON"
CONTEXT = "--serialized-runtime-env-context="
Executed = list[list[str]]


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Executed:
    """The commands that the launcher has run instead of itself."""
    commands: Executed = []
    monkeypatch.setattr(os, "execv", lambda _, command: commands.append(command))
    return commands


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """A listening socket in place of the template."""
    path = tmp_path / "workers.sock"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen()
    monkeypatch.setenv(TEMPLATE_SOCKET, str(path))
    return listening


def launch(monkeypatch: pytest.MonkeyPatch, *arguments: str, timeout_s: float = TIMEOUT_S) -> None:
    monkeypatch.setattr(sys, "argv", ["ray_worker_launcher.py", *arguments])
    ray_worker_launcher.main(timeout_s)


def serve_one(listening: socket.socket, answer: Callable[[socket.socket], None]) -> threading.Thread:
    def accept() -> None:
        client, _ = listening.accept()
        with client:
            answer(client)
        listening.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    return thread


def test_worker_is_requested_with_arguments_environment_and_streams(
    executed: Executed, template: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[tuple[dict[str, object], int]] = []

    def answer(client: socket.socket) -> None:
        line, descriptors, _, _ = socket.recv_fds(client, 1 << 20, 8)
        for descriptor in descriptors:
            os.close(descriptor)
        received.append((json.loads(line), len(descriptors)))
        client.sendall(FORKED)

    thread = serve_one(template, answer)
    launch(monkeypatch, "setup_worker.py", "default_worker.py", PYTHON, f"{CONTEXT}{{}}")
    thread.join()
    ((request, streams),) = received
    assert request["arguments"] == ["setup_worker.py", "default_worker.py", PYTHON, f"{CONTEXT}{{}}"]
    assert request["environment"] == dict(os.environ)
    assert streams == 3
    assert executed == []


def test_worker_that_is_forked_at_once_is_not_started_again(
    executed: Executed, template: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(client: socket.socket) -> None:
        _, descriptors, _, _ = socket.recv_fds(client, 1 << 20, 8)
        for descriptor in descriptors:
            os.close(descriptor)
        client.sendall(FORKED)

    thread = serve_one(template, answer)
    send_fds = socket.send_fds

    def send_and_wait(*arguments: Any) -> int:
        sent = send_fds(*arguments)
        thread.join()  # the template has answered and closed
        return sent

    monkeypatch.setattr(socket, "send_fds", send_and_wait)
    launch(monkeypatch, "default_worker.py", PYTHON)
    assert executed == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("default_worker.py",),
        (PYTHON, CONTEXT + json.dumps({"env_vars": {"A": "1"}})),
        (PYTHON, CONTEXT + json.dumps({"py_executable": "/usr/bin/other"})),
        (PYTHON, CONTEXT + json.dumps({"command_prefix": ["nice"]})),
    ],
)
def test_worker_with_its_own_environment_is_started_by_ray(
    executed: Executed, template: socket.socket, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    launch(monkeypatch, *arguments)
    template.close()
    assert executed == [[sys.executable, *arguments]]


def test_worker_is_started_by_ray_when_there_is_no_template(
    executed: Executed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(TEMPLATE_SOCKET, raising=False)
    launch(monkeypatch, PYTHON)
    monkeypatch.setenv(TEMPLATE_SOCKET, str(tmp_path / "none.sock"))
    launch(monkeypatch, PYTHON)
    assert executed == [[sys.executable, PYTHON]] * 2


def test_worker_is_started_by_ray_when_the_template_exits(
    executed: Executed, template: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = serve_one(template, lambda client: None)
    launch(monkeypatch, PYTHON)
    thread.join()
    assert executed == [[sys.executable, PYTHON]]


def test_worker_is_not_started_twice_after_a_timeout(
    executed: Executed, template: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forked worker confirms its start, and exits if the launcher no longer waits."""
    timed_out = threading.Event()
    confirmed: list[bool] = []

    def answer(client: socket.socket) -> None:
        assert timed_out.wait(10)
        try:
            client.sendall(FORKED)
            confirmed.append(True)
        except BrokenPipeError:
            confirmed.append(False)

    thread = serve_one(template, answer)
    launch(monkeypatch, PYTHON, timeout_s=0.1)
    timed_out.set()
    thread.join()
    assert executed == [[sys.executable, PYTHON]]
    assert confirmed == [False]


def test_worker_program_gets_rays_arguments_without_those_of_the_setup() -> None:
    given = ["/ray/setup_worker.py", f"{CONTEXT}{{}}", PYTHON, "/ray/default_worker.py", "--node-id=1", PYTHON]
    assert worker_arguments(given) == ["/ray/default_worker.py", "--node-id=1"]


def test_launcher_needs_only_the_standard_library() -> None:
    before = set(sys.modules)
    runpy.run_path(str(ray_worker_launcher.__file__), run_name="launcher")
    assert not {name for name in set(sys.modules) - before if name.partition(".")[0] not in sys.stdlib_module_names}


def test_raylet_command_gets_the_launcher() -> None:
    kept = ["raylet", "--head"]
    command = with_worker_launcher([*kept, f"--python_worker_command={sys.executable} setup_worker.py a b"])
    assert command[:2] == kept
    option, _, worker = command[2].partition("=")
    assert option == "--python_worker_command"
    assert worker == f"{sys.executable} -I -S {ray_worker_launcher.__file__} setup_worker.py a b"


def test_raylet_without_worker_command_is_refused() -> None:
    with pytest.raises(RuntimeError, match="its workers cannot be forked; install the version of Ray in constraints"):
        with_worker_launcher(["raylet", "--head", "--python_worker_command=python3 setup_worker.py"])


def test_worker_imports_nothing_large_with_its_first_arguments() -> None:
    """What it would import after the fork takes memory and time in each worker."""
    program = """
import sys
from podium.sweep.ray_cluster.ray_worker_template import import_dependencies
import_dependencies()
import ray
from ray._private.serialization import SerializationContext
from ray._private.worker import global_worker
before = set(sys.modules)
SerializationContext(global_worker)
print(*{"pyarrow.json", "pydantic.main", "pydantic.types", "starlette.datastructures"} - before & set(sys.modules))
"""
    assert run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True).stdout == "\n"
