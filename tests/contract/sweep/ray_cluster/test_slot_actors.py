"""Slots by their actors or by the relays of their nodes. Ray itself is replaced by actors that answer."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError, NodeDiedError, RayTaskError

from podium.sweep.protocol.slot_process_messages import (
    ExchangeCall,
    Frames,
    OpenCall,
    SlotDiedError,
    encode_pid,
    encode_result,
    frame,
)
from podium.sweep.ray_cluster import slot_actors
from podium.sweep.ray_cluster.ray_slot_actor import SlotPlace
from podium.sweep.ray_cluster.ray_slot_relay import RelaySettings
from podium.sweep.ray_cluster.slot_actors import ActorPerSlot, OwnActor, RelayPerNode, SlotActor

PLACE = SlotPlace("cpu", 0, "id-b", "b")
NAME = "slot-b:cpu-0"
OPEN = OpenCall(3, (0.5, 60.0))
EXCHANGE = ExchangeCall(1, 2, 3, b"[]")
WAIT_S = 10.0


class FakeMethod:
    """Its remote calls return what a function returns."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.remote = answer


def _json(pids: dict[str, int] | Exception) -> bytes | Exception:
    return pids if isinstance(pids, Exception) else json.dumps(pids).encode()


class FakeRelay:
    """A relay that answers, raises, or is silent."""

    def __init__(self, pids: dict[str, int] | Exception, *, is_silent: bool = False) -> None:
        self._pids = pids
        self._is_silent = is_silent
        self.called: list[tuple[Any, ...]] = []
        self.answer: Any = None  # to calls of slots
        self.pids = FakeMethod(lambda: self._answer(_json(self._pids)))
        self.kill = FakeMethod(lambda *arguments: self._note("kill", *arguments))
        self.create = FakeMethod(lambda *arguments: self._note("create", *arguments))
        self.call = FakeMethod(lambda *arguments: self._note("call", *arguments))

    def _note(self, *call: Any) -> Any:
        self.called.append(call)
        return self._answer(self.answer)

    def _answer(self, value: Any) -> Any:
        return GetTimeoutError("silent") if self._is_silent else value


class FakeRay:
    """The actors by name, and which were killed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.actors: dict[str, Any] = {}
        self.killed: list[Any] = []
        monkeypatch.setattr(slot_actors, "list_named_actors", lambda: [*self.actors])
        monkeypatch.setattr(ray, "get_actor", self._get_actor)
        monkeypatch.setattr(ray, "kill", lambda actor, *, no_restart: self.killed.append(actor))
        monkeypatch.setattr(ray, "wait", lambda references, *, num_returns, timeout: (references, []))
        monkeypatch.setattr(ray, "get", self._get)

    def _get_actor(self, name: str) -> Any:
        if name not in self.actors:
            raise ValueError(name)
        return self.actors[name]

    def _get(self, reference: Any, *, timeout: float) -> Any:
        if isinstance(reference, Exception):
            raise reference
        return reference


@pytest.fixture
def fake_ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    return FakeRay(monkeypatch)


@pytest.fixture
def slots() -> RelayPerNode:
    return RelayPerNode(RelaySettings("data"), namespace="podium-test")


def test_slots_of_an_earlier_scheduler_are_those_of_all_relays(fake_ray: FakeRay, slots: RelayPerNode) -> None:
    here, there = FakeRelay({"slot-cpu-0": 7, "slot-cpu-1": 8}), FakeRelay({NAME: 7})
    fake_ray.actors = {"slots-id": here, "slots-id-b": there, "slot-cpu-9": object(), "another": object()}
    known = slots.known(1.0)
    assert sorted(known) == [NAME, "slot-cpu-0", "slot-cpu-1"]
    known[NAME].open(OPEN)
    opened = known[NAME].opened(9, "")
    opened.exchange(EXCHANGE)
    opened.kill(8)
    sent = [("call", encode_pid(7) + OPEN.encode()), ("call", encode_pid(9) + EXCHANGE.encode())]
    assert there.called == [*sent, ("kill", 9, 8)]
    assert here.called == fake_ray.killed == []


def test_relay_that_does_not_answer_is_one_slot_that_never_opens(fake_ray: FakeRay, slots: RelayPerNode) -> None:
    silent, dead = FakeRelay({}, is_silent=True), FakeRelay(ActorDiedError())
    fake_ray.actors = {"slots-id": silent, "slots-id-b": dead}
    known = slots.known(1.0)
    assert sorted(known) == ["slots-id", "slots-id-b"]
    known["slots-id"].open(OPEN)
    assert silent.called == [("call", encode_pid(0) + OPEN.encode())], "which is the pid of no slot"
    for slot in known.values():
        slot.kill(8)
    assert fake_ray.killed == [silent, dead]


def test_relay_that_is_unavailable_is_asked_again(fake_ray: FakeRay, slots: RelayPerNode) -> None:
    relay = FakeRelay({NAME: 7})
    answers = iter([ActorUnavailableError("no route", None), _json({NAME: 7})])
    relay.pids = FakeMethod(lambda: next(answers))
    fake_ray.actors = {"slots-id-b": relay}
    assert list(slots.known(60.0)) == [NAME]
    relay.pids = FakeMethod(lambda: ActorUnavailableError("no route", None))
    assert list(slots.known(0.0)) == ["slots-id-b"]


def found(fake_ray: FakeRay, slots: RelayPerNode, relay: FakeRelay) -> SlotActor | None:
    """The slot of `PLACE` with this relay, which an earlier scheduler has created."""
    fake_ray.actors = {"slots-id-b": relay}
    slots.known(1.0)
    return slots.find(PLACE)


def test_slot_is_killed_in_its_relay(fake_ray: FakeRay, slots: RelayPerNode) -> None:
    relay = FakeRelay({NAME: 7})
    slot = found(fake_ray, slots, relay)
    assert slot is not None
    slot.kill(8)
    assert relay.called == [("kill", 7, 8)] and fake_ray.killed == []


@pytest.mark.parametrize("pids", [{}, {"slot-b:cpu-1": 7}])
def test_place_without_a_slot_has_none_to_kill(fake_ray: FakeRay, slots: RelayPerNode, pids: dict[str, int]) -> None:
    assert slots.find(PLACE) is None, "there is no relay"
    assert found(fake_ray, slots, FakeRelay(pids)) is None


def test_relay_that_becomes_silent_is_killed_in_place_of_its_slot(fake_ray: FakeRay, slots: RelayPerNode) -> None:
    relay, silent = FakeRelay({NAME: 7}), FakeRelay({}, is_silent=True)
    slot = found(fake_ray, slots, relay)
    assert slot is not None
    relay.kill, relay.pids = silent.kill, silent.pids
    for instead in (slot.kill(8), slots.find(PLACE)):
        assert instead is not None and instead.kill(8) is None
    assert fake_ray.killed == [relay, relay]


def test_slots_of_a_node_have_one_relay_until_it_dies(slots: RelayPerNode, monkeypatch: pytest.MonkeyPatch) -> None:
    relays = [FakeRelay({}), FakeRelay({}), FakeRelay({})]
    created = iter(relays)
    monkeypatch.setattr(slot_actors, "relay_of", lambda place, settings, *, namespace: next(created))
    other, elsewhere = SlotPlace("cpu", 1, "id-b", "b"), SlotPlace("cpu", 0, "id-c", "c")
    first = slots.create(PLACE)
    for place in (PLACE, other, elsewhere):
        assert slots.find_before_create(place) is None, "the relay ends a slot before it starts another one"
        slots.create(place).open(OPEN)
    assert [call[1] for call in relays[0].called] == [PLACE, other]
    assert [call[1] for call in relays[1].called] == [elsewhere]
    assert first.note_loss(ActorDiedError())
    slots.create(PLACE).open(OPEN)
    slots.create(elsewhere).open(OPEN)
    assert [call[1] for call in relays[2].called] == [PLACE]
    assert [call[1] for call in relays[1].called] == [elsewhere, elsewhere]


def test_slots_of_a_node_die_with_its_relay_and_each_by_itself(slots: RelayPerNode, fake_ray: FakeRay) -> None:
    fake_ray.actors = {"slots-id-b": FakeRelay({NAME: 7})}
    slot = slots.known(1.0)[NAME]
    assert not slot.note_loss(RayTaskError("call", "a bug", ValueError("bad")))
    assert slot.note_loss(ActorDiedError()) and not slot.note_loss(SlotDiedError("signal 9"))
    own = OwnActor(object())
    assert own.note_loss(NodeDiedError("gone")) and not own.note_loss(ActorDiedError())
    assert own.note_loss(RuntimeError("the actor died because its node has died"))


def test_slot_of_an_existing_cluster_is_its_actor(fake_ray: FakeRay) -> None:
    relay, actor = FakeRelay({}), object()
    fake_ray.actors = {"slots-id": relay, NAME: actor, "another": object()}
    assert ActorPerSlot().known(1.0) == {NAME: OwnActor(actor)}
    slot = ActorPerSlot().find(PLACE)
    assert slot == OwnActor(actor) and slot.opened(7, "") == slot
    slot.kill(8)
    assert fake_ray.killed == [actor]
    assert ActorPerSlot().find(SlotPlace("cpu", 1, "id-b", "b")) is None


class Reference:
    """The result of a call of Ray."""

    def __init__(self, answer: bytes | Exception) -> None:
        self._answer = answer

    def future(self) -> Future[bytes]:
        future: Future[bytes] = Future()
        if isinstance(self._answer, Exception):
            future.set_exception(self._answer)
        else:
            future.set_result(self._answer)
        return future


class Disconnected:
    """A call that Ray refuses."""

    def future(self) -> Future[bytes]:
        raise RuntimeError("Ray is not connected")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Reference(encode_result(b"[]")), b"[]"),
        (Reference(ActorDiedError()), ActorDiedError),
        (Disconnected(), RuntimeError),
    ],
)
def test_slot_of_this_machine_is_called_over_its_socket_until_that_closes(
    fake_ray: FakeRay, slots: RelayPerNode, tmp_path: Path, answer: Reference | Disconnected, expected: object
) -> None:
    relay = FakeRelay({NAME: 7})
    relay.answer = answer
    slot = found(fake_ray, slots, relay)
    assert slot is not None
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path := str(tmp_path / "slot"))
        listening.listen()
        direct = slot.opened(os.getpid(), path)
        connection, _ = listening.accept()
    with connection:
        reference = direct.exchange(EXCHANGE)
        ((number, body),) = Frames().feed(connection.recv(4096))
        assert body == EXCHANGE.encode()
        connection.sendall(frame(number, encode_result(b"[1]")))
        assert direct.read(reference.future().result(WAIT_S)) == b"[1]"
        waiting = direct.exchange(EXCHANGE).future()
        assert relay.called == []
    for again in (waiting, direct.exchange(EXCHANGE).future()):  # the call that waits, and the next one
        try:
            found_again: object = direct.read(again.result(WAIT_S))
        except Exception as error:
            found_again = type(error)
        assert found_again == expected
    assert relay.called == [("call", encode_pid(os.getpid()) + EXCHANGE.encode())] * 2
    direct.kill(8)
    assert relay.called[-1] == ("kill", os.getpid(), 8)


def test_slot_whose_socket_cannot_be_reached_is_called_through_its_relay(
    fake_ray: FakeRay, slots: RelayPerNode, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    relay = FakeRelay({NAME: 7})
    slot = found(fake_ray, slots, relay)
    assert slot is not None
    slot.opened(9, str(tmp_path / "missing")).exchange(EXCHANGE)
    assert relay.called == [("call", encode_pid(9) + EXCHANGE.encode())]
    assert "cannot connect to the slot at" in caplog.text
