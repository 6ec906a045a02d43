"""The process template: what it forks is fresh, ends with its client, and outlives a template that is killed."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.process_template.template_forked_process import TEMPLATE_SOCKET, ForkedProcess, template_socket
from podium.sweep.process_template.template_imports import FORK_SERVER
from podium.sweep.process_template.template_launcher import TemplateProcess
from podium.sweep.protocol.fork_server_messages import ForkServerReady, decode_reply
from podium.sweep.protocol.process_template_messages import ForkProcess
from podium.sweep.runtime.process_trees import become_subreaper, children
from podium.sweep.runtime.serve_environment_for_trials import user_environment

ENTRY = "forked_entries"
FOLDER = Path(__file__).parent / "forked"


class Template:
    """A template of its own, with the entries of this test on its path."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="podium-template-"))
        self.path = self.folder / "requests.sock"
        environment = {**user_environment(), "PYTHONPATH": str(FOLDER), "OF_THE_TEMPLATE": "1"}
        self.process = TemplateProcess(self.path, self.folder / "workers.sock", environment)
        self.process.start_if_exited()

    def start(self, what: str, *, detached: bool = False, **environment: str) -> tuple[ForkedProcess, int]:
        """The process, and the descriptor to read from."""
        reading, writing = os.pipe()
        request = ForkProcess(ENTRY, (what,), {"PATH": os.environ["PATH"], **environment}, detached)
        process = ForkedProcess.request(self.path, request, [writing])
        os.close(writing)
        return process, reading

    def close(self) -> None:
        self.process.close()
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def template() -> Iterator[Template]:
    become_subreaper()  # as the guardian: processes of a killed template are adopted here
    opened = Template()
    yield opened
    opened.close()


def wait_for_exit(process: ForkedProcess) -> None:
    while process.read():
        assert select.select([process.connection], [], [], 30)[0]


def pid_of(process: ForkedProcess) -> int:
    """The process may run before the reply with its id has arrived."""
    while process.pid is None:
        assert select.select([process.connection], [], [], 30)[0] and process.read()
    return process.pid


def read(reading: int) -> str:
    assert select.select([reading], [], [], 60)[0]
    return os.read(reading, 4096).decode()


def is_gone(pid: int) -> bool:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_process_has_the_requested_environment_and_descriptors(template: Template) -> None:
    process, reading = template.start("report", COLOR="blue")
    color, variables, rows, descriptors, owner = read(reading).split("\n")
    wait_for_exit(process)
    assert (color, variables, rows) == ("blue", "2", "400")
    # standard streams, the pipe to this test, the pipe of the owner, and the listing itself
    assert int(descriptors) == 3 + 1 + 1 + 1 and int(owner) > 2
    assert (process.exit_code, process.orphans) == (7, 0)
    process.close()
    os.close(reading)


def test_fork_server_has_the_requested_environment(template: Template, tmp_path: Path) -> None:
    """It is forked without hooks, and its environment is changed where it differs from the template's."""
    file = tmp_path / "environment.json"
    wanted = {"PATH": os.environ["PATH"], "COLOR": "blue", "FILE": str(file)}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            request = ForkProcess(FORK_SERVER, ("tells_environment",), wanted)
            process = ForkedProcess.request(template.path, request, [theirs.fileno()])
        reply = decode_reply(ours.recv(4096).rstrip())
        assert isinstance(reply, ForkServerReady), reply
    wait_for_exit(process)
    process.close()
    found = json.loads(file.read_text())
    found.pop("TORCHINDUCTOR_CACHE_DIR", None)  # set by torch's compiler, which is imported before the package
    assert found == wanted


def test_orphans_are_killed_before_the_exit_is_reported(template: Template) -> None:
    process, reading = template.start("leave")
    left = int(read(reading))
    wait_for_exit(process)
    assert (process.exit_code, process.orphans) == (0, 1)
    assert not Path(f"/proc/{left}").exists()
    process.close()
    os.close(reading)


def test_error_in_a_process_does_not_affect_the_template(template: Template) -> None:
    process, reading = template.start("crash")
    wait_for_exit(process)
    assert process.exit_code == 70
    process.close()
    os.close(reading)
    assert not template.process.start_if_exited()


def test_process_ends_with_its_client_unless_it_is_detached(template: Template) -> None:
    attached, first = template.start("sleep")
    detached, second = template.start("sleep", detached=True)
    assert read(first) == read(second) == "asleep"
    attached_pid, detached_pid = pid_of(attached), pid_of(detached)
    attached.close()
    detached.close()
    assert is_gone(attached_pid)
    assert Path(f"/proc/{detached_pid}").exists()
    os.kill(detached_pid, signal.SIGKILL)
    assert is_gone(detached_pid)
    os.close(first)
    os.close(second)


def test_kill_ends_a_process_that_is_not_forked_yet(template: Template) -> None:
    os.kill(template.process.pid, signal.SIGSTOP)
    process, reading = template.start("sleep")
    process.kill()
    os.kill(template.process.pid, signal.SIGCONT)
    wait_for_exit(process)
    assert process.exit_code == -signal.SIGKILL
    process.close()
    os.close(reading)


def test_client_that_sends_no_request_is_dropped(template: Template) -> None:
    process, reading = template.start("report")
    process.connection.setblocking(True)
    process.connection.sendall(b"more than one request\n")  # ends its process, like a closed connection
    process.close()
    os.close(reading)
    following, reading = template.start("report")
    wait_for_exit(following)
    assert following.exit_code == 7
    following.close()
    os.close(reading)


def test_killed_template_is_replaced_and_its_processes_keep_running(template: Template) -> None:
    process, reading = template.start("sleep")
    assert read(reading) == "asleep"
    assert pid_of(process)
    killed = template.process.pid
    os.kill(killed, signal.SIGKILL)
    assert is_gone(killed)
    waiting, second = template.start("report", COLOR="red")  # waits for the next template
    assert not process.read(), "the template cannot report the exit any longer"
    assert not process.has_exited
    assert not template.process.has_failed
    assert template.process.start_if_exited()
    assert read(second).startswith("red\n")
    wait_for_exit(waiting)
    assert process.pid in children(os.getpid())
    process.kill()
    assert is_gone(process.pid or 0)
    os.waitpid(process.pid or 0, 0)
    for each in (process, waiting):
        each.close()
    os.close(reading)
    os.close(second)


def test_all_processes_end_with_the_owner() -> None:
    template = Template()
    process, reading = template.start("sleep", detached=True)
    assert read(reading) == "asleep"
    pid = pid_of(process)
    template.close()
    assert is_gone(pid)
    process.close()
    os.close(reading)


def test_process_without_a_template_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(TEMPLATE_SOCKET, raising=False)
    with pytest.raises(OSError, match="PODIUM_TEMPLATE is not set"):
        template_socket()
    with pytest.raises(FileNotFoundError):
        ForkedProcess.request(tmp_path / "none.sock", ForkProcess(ENTRY, (), {}), [])
