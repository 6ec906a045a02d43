"""A slot replaces the fork server that was forked before the process template had imported the rest."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.protocol.process_template_messages import WITHOUT_REST
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, key_of, stop_command
from tests.process_templates import TestTemplate

USER_CODE = Path(__file__).parent / "user_code"
THREAD = "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"


@pytest.fixture
def template() -> Iterator[TestTemplate]:
    """A template that imports the rest after SIGUSR1."""
    opened = TestTemplate("tests.late_template")
    yield opened
    opened.close()


@pytest.fixture
def slot(template: TestTemplate, tmp_path: Path) -> Iterator[SlotDriver]:
    """A slot of this template."""
    opened = SlotDriver(tmp_path, USER_CODE, template)
    yield opened
    opened.close()


def test_idle_slot_replaces_its_fork_server(slot: SlotDriver, template: TestTemplate) -> None:
    (first,) = slot.fork_servers()
    assert slot.result("finds_the_compiler").value == 0.0
    os.kill(template.process.pid, signal.SIGUSR1)
    while first in (servers := slot.fork_servers()) or not servers:
        slot.wait(asyncio.sleep(0.02))
    assert slot.result("finds_the_compiler").value == 1.0
    assert len(slot.fork_servers()) == 1


def test_running_attempt_keeps_its_fork_server_until_it_ends(slot: SlotDriver, template: TestTemplate) -> None:
    first = slot.fork_servers()
    running = slot.begin("sleeps")
    os.kill(template.process.pid, signal.SIGUSR1)
    template.wait_for_imports()
    slot.wait(asyncio.sleep(0.2))  # in which the slot reads the message
    assert slot.fork_servers() == first
    assert slot.end(stop_command(key_of(running))).state is TrialState.CANCELLED
    assert slot.result("finds_the_compiler").value == 1.0
    assert slot.fork_servers() != first
    assert len(slot.fork_servers()) == 1


def test_fork_server_with_packages_imports_the_rest_itself_and_stays(slot: SlotDriver, template: TestTemplate) -> None:
    program = {"function": "train:finds_the_compiler", "preload": ["wave"]}
    assert slot.result(program).value == 1.0
    servers = set(slot.fork_servers())
    os.kill(template.process.pid, signal.SIGUSR1)
    template.wait_for_imports()
    slot.wait(asyncio.sleep(0.2))  # in which the slot reads the message
    assert slot.result(program).value == 1.0
    assert slot.result("finds_the_compiler").value == 1.0
    assert len(servers & set(slot.fork_servers())) == 1, "only the one without packages was replaced"


def test_template_that_can_no_longer_be_forked_is_replaced_by_one_without_the_rest(tmp_path: Path) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(THREAD)
    template = TestTemplate("tests.late_template", packages=tmp_path)
    slot = SlotDriver(tmp_path, USER_CODE, template)
    first = slot.fork_servers()
    running = slot.begin("sleeps")
    os.kill(template.process.pid, signal.SIGUSR1)
    os.waitid(os.P_PID, template.process.pid, os.WEXITED | os.WNOWAIT)
    assert not template.process.has_failed, "the guardian would end the service"
    assert template.process.start_if_exited()
    assert slot.end(stop_command(key_of(running))).state is TrialState.CANCELLED
    assert slot.result("finds_the_compiler").value == 0.0, "the fork server of the first template keeps running"
    for pid in first:
        os.kill(pid, signal.SIGKILL)
    slot.wait(asyncio.sleep(0.2))  # in which the slot learns that it has exited
    assert slot.result("finds_the_compiler").value == 0.0
    variables = Path(f"/proc/{template.process.pid}/environ").read_text().split("\0")
    assert f"{WITHOUT_REST}=1" in variables
    slot.close()
    template.close()
