"""The process of a slot, forked by a real process template: calls, errors, and its end with its relay."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from podium.sweep.process_template.template_forked_process import TEMPLATE_SOCKET, ForkedProcess
from podium.sweep.protocol.process_template_messages import ForkProcess
from podium.sweep.protocol.scheduler_slot_messages import SUPERSEDED, SlotDescription, decode_events
from podium.sweep.protocol.slot_process_messages import (
    ExchangeCall,
    OpenCall,
    SlotDiedError,
    SlotIdentity,
    encode_pid,
    result_of,
)
from podium.sweep.ray_cluster import ray_slot_relay
from podium.sweep.ray_cluster.ray_slot_actor import SlotPlace
from podium.sweep.ray_cluster.ray_slot_relay import RaySlotRelay, RelaySettings
from podium.sweep.runtime.joined_node_settings import NODE_ROOT
from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.slots.local_slot_connections import LocalSlotConnections
from podium.sweep.slots.slot_process_client import ENTRY, SlotProcess
from podium.sweep.values.errors import FencedError, NoDeviceError, PodiumError
from tests.process_templates import shared_template

PLACE = SlotPlace("cpu", 0, "node-id")
OTHER = SlotPlace("cpu", 1, "node-id")
NAME = PLACE.actor_name
HEARTBEAT_S = 0.05
NEVER_S = 1e9


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Any]]:
    """Runs a coroutine in one event loop, with a process template for what it starts."""
    monkeypatch.setenv(TEMPLATE_SOCKET, str(shared_template().requests))
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RaySlotRelay:
    """A relay outside of Ray."""

    def identity(place: SlotPlace, visible: str, *, root: str, agent: str, socket: str, pretend: bool) -> SlotIdentity:
        name = place.actor_name.removeprefix("slot-")
        return SlotIdentity(
            name, place.kind, place.position, visible, None, place.node_id, "10.0.0.1", 3, 1, root, agent, socket
        )

    monkeypatch.setattr(ray_slot_relay, "identity_of", identity)
    monkeypatch.setattr(ray, "get_runtime_context", lambda: None)
    return RaySlotRelay(RelaySettings(str(tmp_path)))


async def opened(relay: RaySlotRelay, place: SlotPlace = PLACE, epoch: int = 1) -> SlotDescription:
    return described(await relay.create(place, OpenCall(epoch, (HEARTBEAT_S, NEVER_S)).encode()))


def described(answer: bytes) -> SlotDescription:
    return SlotDescription.from_json(result_of(answer))


async def exchange(relay: RaySlotRelay, slot: SlotDescription, call: int) -> bytes:
    body = ExchangeCall(slot.session, call, 0, b"[]").encode()
    return result_of(await relay.call(encode_pid(slot.pid) + body))


async def open_again(relay: RaySlotRelay, pid: int) -> SlotDescription:
    return described(await relay.call(encode_pid(pid) + OpenCall(1, (HEARTBEAT_S, NEVER_S)).encode()))


async def ended(pid: int) -> None:
    while process_name(pid) != "":
        await asyncio.sleep(0.01)


def test_slot_describes_its_device_and_answers_calls(run: Callable[[Any], Any], relay: RaySlotRelay) -> None:
    async def scene() -> None:
        slot = await opened(relay)
        assert (slot.name, slot.kind, slot.position, slot.node) == ("cpu-0", "cpu", 0, "node-id")
        assert (slot.address, slot.threads, slot.visible) == ("10.0.0.1", 3, "")
        assert process_name(slot.pid) == "podium-slot"
        assert decode_events(await exchange(relay, slot, 1)) == ()
        assert json.loads(await relay.pids()) == {NAME: slot.pid}
        again = await open_again(relay, slot.pid)
        assert (again.pid, again.session) == (slot.pid, slot.session + 1)
        assert await exchange(relay, slot, 2) == SUPERSEDED
        await relay.kill(slot.pid, 9)

    run(scene())


def test_calls_of_one_slot_and_of_several_do_not_wait_for_each_other(
    run: Callable[[Any], Any], relay: RaySlotRelay
) -> None:
    async def scene() -> None:
        first = described(await relay.create(PLACE, OpenCall(1, (600.0, NEVER_S)).encode()))
        second = await opened(relay, OTHER)
        waits = asyncio.create_task(exchange(relay, first, 1))
        assert decode_events(await exchange(relay, second, 1)) == ()
        assert not waits.done()
        newer = asyncio.create_task(exchange(relay, first, 2))
        assert await waits == SUPERSEDED
        await relay.kill(first.pid, 9)
        with pytest.raises(SlotDiedError, match="the process of slot cpu-0 was killed by signal 9"):
            await newer
        assert decode_events(await exchange(relay, second, 2)) == (), "another slot does not notice"
        await relay.kill(second.pid, 9)

    run(scene())


def test_scheduler_that_was_replaced_is_refused(run: Callable[[Any], Any], relay: RaySlotRelay) -> None:
    async def scene() -> None:
        slot = await opened(relay, epoch=8)
        with pytest.raises(FencedError, match="8"):
            await opened(relay, epoch=7)
        with pytest.raises(FencedError, match="8"):
            await opened(relay, OTHER, epoch=7)
        with pytest.raises(FencedError, match="8"):
            await open_again(relay, slot.pid)
        await relay.kill(slot.pid, 7)
        assert decode_events(await exchange(relay, slot, 1)) == (), "it was not to be killed by that scheduler"
        await relay.kill(slot.pid, 8)
        assert json.loads(await relay.pids()) == {}

    run(scene())


def test_slot_that_takes_the_place_of_another_one_gets_none_of_its_calls(
    run: Callable[[Any], Any], relay: RaySlotRelay
) -> None:
    async def scene() -> None:
        first = await opened(relay)
        os.kill(first.pid, signal.SIGKILL)
        await ended(first.pid)
        with pytest.raises(SlotDiedError):
            while True:
                await exchange(relay, first, 1)
        assert json.loads(await relay.pids()) == {}
        with pytest.raises(SlotDiedError, match="signal 9"):
            await open_again(relay, first.pid)
        second = await opened(relay)
        assert second.pid != first.pid and second.session == first.session
        with pytest.raises(SlotDiedError, match="another slot has taken its place"):
            await exchange(relay, first, 2)
        await relay.kill(first.pid, 9)
        assert decode_events(await exchange(relay, second, 1)) == (), "only the first one was to be killed"
        await relay.kill(second.pid, 9)

    run(scene())


def test_slot_of_the_head_answers_on_its_socket_as_through_the_relay(
    run: Callable[[Any], Any], relay: RaySlotRelay
) -> None:
    connections = LocalSlotConnections()

    async def scene() -> None:
        first = await opened(relay)
        direct = connections.connect(first.socket, first.pid)
        body = ExchangeCall(first.session, 1, 0, b"[]").encode()
        assert decode_events(result_of(await asyncio.wrap_future(direct.call(body)))) == ()
        assert decode_events(await exchange(relay, first, 2)) == (), "there is one order of calls"
        later = direct.call(ExchangeCall(first.session, 4, 0, b"[]").encode())  # waits for the third
        os.kill(first.pid, signal.SIGKILL)
        with pytest.raises(ConnectionError):
            await asyncio.wrap_future(later)
        second = await opened(relay)
        assert second.socket == first.socket
        with pytest.raises(ConnectionRefusedError, match=f"process {second.pid} listens there, not {first.pid}"):
            connections.connect(first.socket, first.pid)
        direct = connections.connect(second.socket, second.pid)
        assert decode_events(result_of(await asyncio.wrap_future(direct.call(body)))) == ()
        await relay.kill(second.pid, 9)

    run(scene())


def test_slot_of_another_node_does_not_listen(
    run: Callable[[Any], Any], relay: RaySlotRelay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(NODE_ROOT, str(tmp_path))

    async def scene() -> None:
        slot = await opened(relay)
        assert slot.socket == ""
        await relay.kill(slot.pid, 9)

    run(scene())


def test_slot_that_cannot_listen_is_called_through_the_relay(
    run: Callable[[Any], Any], relay: RaySlotRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RuntimeDirectory, "slot_socket", lambda self, name: self.root / "missing" / name)

    async def scene() -> None:
        slot = await opened(relay)
        assert slot.socket == ""
        assert decode_events(await exchange(relay, slot, 1)) == ()
        await relay.kill(slot.pid, 9)

    run(scene())


def test_new_slot_is_started_when_the_one_before_has_ended(run: Callable[[Any], Any], relay: RaySlotRelay) -> None:
    async def scene() -> None:
        first = described(await relay.create(PLACE, OpenCall(1, (600.0, NEVER_S)).encode()))
        waits = asyncio.create_task(exchange(relay, first, 1))
        second = await opened(relay)
        with pytest.raises(SlotDiedError):
            await waits
        assert process_name(first.pid) == "" and json.loads(await relay.pids()) == {NAME: second.pid}
        await relay.kill(second.pid, 9)

    run(scene())


def test_unknown_slot_is_refused(run: Callable[[Any], Any], relay: RaySlotRelay) -> None:
    with pytest.raises(SlotDiedError, match="another slot has taken its place"):
        run(open_again(relay, 1))
    run(relay.kill(1, 9))


def test_slot_ends_when_its_host_has_ended(run: Callable[[Any], Any], tmp_path: Path) -> None:
    identity = SlotIdentity("cpu-0", "cpu", 0, "", None, "node-id", "", 1, 1, str(tmp_path))
    ours, theirs = socket.socketpair()
    request = ForkProcess(ENTRY, (identity.to_json(),), dict(os.environ))
    with ours, theirs:
        process = ForkedProcess.request(shared_template().requests, request, [theirs.fileno()])
        theirs.close()
        assert ours.recv(1) != b"", "it greets"
    process.connection.setblocking(True)
    while process.read():
        pass
    process.close()
    assert process.exit_code == 0


def test_process_that_does_not_greet_in_time_is_given_up(run: Callable[[Any], Any], tmp_path: Path) -> None:
    identity = SlotIdentity("cpu-0", "cpu", 0, "", None, "node-id", "", 1, 1, str(tmp_path))
    with socket.socket(socket.AF_UNIX) as template:  # takes the request, and forks nothing
        template.bind(str(tmp_path / "template"))
        template.listen()
        with pytest.raises(TimeoutError):
            run(SlotProcess.start(identity, tmp_path / "template", 0.1))


def test_slot_without_a_template_does_not_open(
    run: Callable[[Any], Any], relay: RaySlotRelay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(TEMPLATE_SOCKET, str(tmp_path / "missing"))
    with pytest.raises(PodiumError, match="No such file"):
        run(opened(relay))


def test_gpu_must_be_one_that_ray_has_reserved() -> None:
    assert ray_slot_relay.check_reserved("1", ["0", "1"]) == "1"
    with pytest.raises(NoDeviceError, match=r"Ray reserved the GPUs \['0'\] for the slots of this node, and not 1"):
        ray_slot_relay.check_reserved("1", ["0"])
