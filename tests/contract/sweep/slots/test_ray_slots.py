"""The slots on Ray: attaching, calls that do not arrive, and losses. Ray itself is replaced by actors that answer."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError

from podium.sweep.lifecycle.scheduler_messages import Inbox, Message, SlotEvents, SlotLost, SlotOpened
from podium.sweep.protocol.slot_commands import StopAttempt
from podium.sweep.protocol.slot_messages import SlotDescription, decode_commands
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import DevicePlan
from podium.sweep.slots import ray_slots
from podium.sweep.slots.ray_slots import RaySlots
from podium.sweep.values.assignment import AttemptKey
from podium.sweep.values.errors import FencedError
from podium.sweep.values.failure_causes import Cause

UNAVAILABLE = ActorUnavailableError("no route to the node", None)
STOP = StopAttempt(AttemptKey(1, 1), Cause.CANCELLED)
Answer = bytes | Exception | None  # None: no answer


class FakeReference:
    """The result of a remote call."""

    def __init__(self, answer: Answer) -> None:
        self._future: Future[bytes] = Future()
        if isinstance(answer, Exception):
            self._future.set_exception(answer)
        elif answer is not None:
            self._future.set_result(answer)

    def future(self) -> Future[bytes]:
        return self._future


class FakeActor:
    """A slot whose answers the test chooses; the last one repeats."""

    def __init__(self, name: str, *, opens: list[Answer] | None = None, exchanges: list[Answer] | None = None) -> None:
        description = SlotDescription(name, 1, 100, "", None, None, ())
        self._opens = opens if opens is not None else [description.to_json()]
        self._exchanges = exchanges if exchanges is not None else [b"[]"]
        self.opened_with: list[int] = []
        self.calls: list[tuple[int, int]] = []  # number, number of commands
        self.open = _Method(self._open)
        self.exchange = _Method(self._exchange)

    def _open(self, epoch: int) -> Answer:
        self.opened_with.append(epoch)
        return self._opens.pop(0) if len(self._opens) > 1 else self._opens[0]

    def _exchange(self, session: int, call: int, acknowledged: int, commands: bytes) -> Answer:
        self.calls.append((call, len(decode_commands(commands))))
        return self._exchanges.pop(0) if len(self._exchanges) > 1 else self._exchanges[0]


class _Method:
    def __init__(self, call: Callable[..., Answer]) -> None:
        self._call = call

    def remote(self, *arguments: Any) -> FakeReference:
        return FakeReference(self._call(*arguments))


class FakeRay:
    """The actors by name, and which were killed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.actors: dict[str, FakeActor] = {}
        self.killed: list[FakeActor] = []
        monkeypatch.setattr(ray_slots, "list_named_actors", lambda: [*self.actors, "another"])
        monkeypatch.setattr(ray, "get_actor", self._get_actor)
        monkeypatch.setattr(ray, "kill", lambda actor, no_restart: self.killed.append(actor))
        monkeypatch.setattr(ray, "cluster_resources", dict)
        monkeypatch.setattr(ray, "wait", self._wait)
        monkeypatch.setattr(ray, "get", self._get)

    def slots(self) -> tuple[RaySlots, Inbox]:
        inbox: Inbox = Inbox()
        plan = DevicePlan("cpu", len(self.actors))
        return RaySlots(inbox, plan, data=DataDirectory(Path("data")), namespace="podium-test", epoch=7), inbox

    def _get_actor(self, name: str) -> FakeActor:
        if name not in self.actors:
            raise ValueError(name)
        return self.actors[name]

    def _wait(self, references: list[FakeReference], *, num_returns: int, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not all(each.future().done() for each in references) and time.monotonic() < end:
            time.sleep(0.01)

    def _get(self, reference: FakeReference, *, timeout: float) -> bytes:
        if not reference.future().done():
            raise GetTimeoutError
        return reference.future().result()


@pytest.fixture
def fake_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    monkeypatch.setattr(ray_slots, "ATTACH_S", 0.5)
    monkeypatch.setattr(ray_slots, "UNAVAILABLE_S", 0.3)
    monkeypatch.setattr(ray_slots, "RESEND_S", 0.02)
    monkeypatch.setattr(ray_slots, "REOPEN_S", 3600.0)
    yield FakeRay(monkeypatch)


def _opened(found: list[SlotOpened]) -> list[str]:
    return [each.device.device_id for each in found]


def _next(inbox: Inbox) -> Message:
    return inbox.get(timeout=10)


def _is_silent(inbox: Inbox) -> bool:
    try:
        inbox.get(timeout=0.2)
    except queue.Empty:
        return True
    return False


def test_attach_opens_all_slots_at_once_and_replaces_those_without_an_answer(fake_ray: FakeRay) -> None:
    silent = [FakeActor(f"cpu-{n}", opens=[None]) for n in range(5)]
    fake_ray.actors = {f"slot-cpu-{n}": actor for n, actor in enumerate(silent)} | {"slot-cpu-5": FakeActor("cpu-5")}
    slots, _ = fake_ray.slots()
    began = time.monotonic()
    assert _opened(slots.attach()) == ["cpu-5"]
    assert time.monotonic() - began < 2 * ray_slots.ATTACH_S, "one after the other would take five times as long"
    assert fake_ray.killed == silent
    assert fake_ray.actors["slot-cpu-5"].opened_with == [7]


def test_attach_tries_again_while_a_slot_cannot_be_reached(fake_ray: FakeRay) -> None:
    description = SlotDescription("cpu-0", 2, 100, "", None, AttemptKey(1, 1), ()).to_json()
    fake_ray.actors = {"slot-cpu-0": FakeActor("cpu-0", opens=[UNAVAILABLE, UNAVAILABLE, description])}
    slots, _ = fake_ray.slots()
    (found,) = slots.attach()
    assert found.running == AttemptKey(1, 1) and fake_ray.killed == []


def test_attach_of_a_replaced_scheduler_kills_nothing(fake_ray: FakeRay) -> None:
    fake_ray.actors = {"slot-cpu-0": FakeActor("cpu-0", opens=[FencedError("epoch 8")])}
    slots, _ = fake_ray.slots()
    with pytest.raises(FencedError):
        slots.attach()
    assert fake_ray.killed == []


def test_unavailable_slot_gets_the_same_call_again_and_is_not_lost(fake_ray: FakeRay) -> None:
    actor = FakeActor("cpu-0", exchanges=[UNAVAILABLE, UNAVAILABLE, b"[]"])
    fake_ray.actors = {"slot-cpu-0": actor}
    slots, inbox = fake_ray.slots()
    slots.attach()
    slots.send("cpu-0", 0, [STOP])
    assert _next(inbox) == SlotEvents("cpu-0", ())
    assert actor.calls == [(1, 1)] * 3
    assert fake_ray.killed == []


def test_older_call_is_sent_again_although_a_newer_one_waits(fake_ray: FakeRay) -> None:
    """The slot executes calls in their order: without the older one it would wait forever."""
    actor = FakeActor("cpu-0", exchanges=[UNAVAILABLE, None, b"null"])
    fake_ray.actors = {"slot-cpu-0": actor}
    slots, inbox = fake_ray.slots()
    slots.attach()
    slots.send("cpu-0", 0, [STOP])
    slots.send("cpu-0", 0, [])
    assert _is_silent(inbox)
    assert actor.calls == [(1, 1), (2, 0), (1, 1)]


def test_slot_that_stays_unavailable_is_killed_and_lost_with_its_node(fake_ray: FakeRay) -> None:
    actor = FakeActor("cpu-0", exchanges=[UNAVAILABLE])
    fake_ray.actors = {"slot-cpu-0": actor}
    slots, inbox = fake_ray.slots()
    slots.attach()
    slots.send("cpu-0", 0, [])
    lost = _next(inbox)
    assert isinstance(lost, SlotLost) and (lost.device_id, lost.cause) == ("cpu-0", Cause.NODE_LOST)
    assert fake_ray.killed == [actor]
    assert _is_silent(inbox), "lost once"


def test_dead_slot_is_lost_at_once(fake_ray: FakeRay) -> None:
    actor = FakeActor("cpu-0", exchanges=[ActorDiedError()])
    fake_ray.actors = {"slot-cpu-0": actor}
    slots, inbox = fake_ray.slots()
    slots.attach()
    slots.send("cpu-0", 0, [])
    lost = _next(inbox)
    assert isinstance(lost, SlotLost) and lost.cause is Cause.INFRASTRUCTURE
    assert len(actor.calls) == 1
