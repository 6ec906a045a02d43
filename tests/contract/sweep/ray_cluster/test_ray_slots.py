"""The slots on Ray: attaching, calls that do not arrive, and losses. Ray itself is replaced by actors that answer."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace

import pytest
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, Message, SlotEvents, SlotLost, SlotOpened
from podium.sweep.protocol.scheduler_slot_messages import SlotDescription, decode_commands
from podium.sweep.protocol.slot_commands import StopAttempt
from podium.sweep.protocol.slot_process_messages import ExchangeCall, OpenCall
from podium.sweep.ray_cluster import own_cluster_devices
from podium.sweep.ray_cluster.own_cluster_devices import OwnClusterDevices
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode
from podium.sweep.ray_cluster.ray_slot_actor import ACTOR_PREFIX, SlotPlace
from podium.sweep.ray_cluster.ray_slots import RaySlots, SlotTimings
from podium.sweep.ray_cluster.slot_actors import SlotActor
from podium.sweep.runtime.service_settings import DevicePlan
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import DatabaseError, FencedError
from podium.sweep.values.failure_causes import Cause

UNAVAILABLE = ActorUnavailableError("no route to the node", None)
STOP = StopAttempt(AttemptKey(1, 1), Cause.CANCELLED)
FAST = SlotTimings(attach_s=0.5, unavailable_s=0.3, resend_s=0.02, reopen_s=3600.0, nodes_s=0.02, node_check_s=0.02)
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
        self.exchanges: list[Answer] = exchanges if exchanges is not None else [b"[]"]
        self.opened_with: list[tuple[float, ...]] = []
        self.calls: list[tuple[int, int]] = []  # number, number of commands
        self.called_by: list[threading.Thread] = []  # also the threads of the callbacks
        self.killed_by: list[threading.Thread] = []
        self.has_lost_its_node = False

    def open(self, call: OpenCall) -> FakeReference:
        self.opened_with.append((call.epoch, *call.times_s))
        return FakeReference(self._opens.pop(0) if len(self._opens) > 1 else self._opens[0])

    def opened(self, pid: int, socket: str) -> FakeActor:
        return self

    def exchange(self, call: ExchangeCall) -> FakeReference:
        self.calls.append((call.call, len(decode_commands(call.commands))))
        self.called_by.append(threading.current_thread())
        return FakeReference(self.exchanges.pop(0) if len(self.exchanges) > 1 else self.exchanges[0])

    def read(self, answer: bytes) -> bytes:
        return answer

    def note_loss(self, error: Exception) -> bool:
        return self.has_lost_its_node

    def kill(self, epoch: int) -> None:
        assert epoch == 7
        self.killed_by.append(threading.current_thread())


class FakeRay:
    """The actors by name, and which were killed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.actors: dict[str, FakeActor] = {}
        self._replaced: list[FakeActor] = []
        self.nodes = {"id-head": ClusterNode("id-head", "", 0, 0)}
        self.created: list[SlotPlace] = []
        self._made: RaySlots | None = None
        self.confirm: Callable[[], None] = lambda: None
        monkeypatch.setattr(own_cluster_devices, "alive_nodes", lambda known=None: dict(self.nodes))
        monkeypatch.setattr(ray, "wait", self._wait)
        monkeypatch.setattr(ray, "get", self._get)

    def slots(
        self, count: int | None = None, timings: SlotTimings = FAST, trials_per_device: int = 1
    ) -> tuple[RaySlots, Inbox]:
        inbox: Inbox = Inbox()
        plan = DevicePlan("cpu", count or len(self.actors))
        devices = OwnClusterDevices(plan, self, trials_per_device=trials_per_device)
        self._made = RaySlots(inbox, devices, epoch=7, confirm=lambda: self.confirm(), timings=timings)
        return self._made, inbox

    def close(self) -> None:
        """No thread may call Ray once it is no longer replaced: Ray would start."""
        if self._made is not None:
            self._made.close()

    @property
    def killed(self) -> list[FakeActor]:
        """In the order of their creation."""
        return [actor for actor in self.all_actors if actor.killed_by]

    @property
    def all_actors(self) -> list[FakeActor]:
        """Also those that another one has replaced."""
        return [*self._replaced, *self.actors.values()]

    def known(self, timeout_s: float) -> dict[str, SlotActor]:
        return {**self.actors}

    def find(self, place: SlotPlace) -> SlotActor | None:
        return self.actors.get(place.actor_name)

    def find_before_create(self, place: SlotPlace) -> SlotActor | None:
        return self.find(place)

    def create(self, place: SlotPlace) -> SlotActor:
        self.created.append(place)
        name = place.actor_name
        if name in self.actors:
            self._replaced.append(self.actors[name])
        self.actors[name] = FakeActor(name.removeprefix(ACTOR_PREFIX))
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
    made = FakeRay(monkeypatch)
    yield made
    made.close()


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
    assert time.monotonic() - began < 2 * FAST.attach_s, "one after the other would take five times as long"
    assert fake_ray.killed == silent
    assert fake_ray.actors["slot-cpu-5"].opened_with == [(7,)]


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


@pytest.mark.parametrize(("device", "cause"), [("cpu-0", Cause.INFRASTRUCTURE), ("b:cpu-0", Cause.NODE_LOST)])
def test_slot_that_stays_unavailable_is_killed_and_lost(fake_ray: FakeRay, device: str, cause: Cause) -> None:
    actor = FakeActor(device, exchanges=[UNAVAILABLE])
    fake_ray.actors = {f"slot-{device}": actor}
    slots, inbox = fake_ray.slots()
    slots.attach()
    slots.send(device, 0, [])
    lost = _next(inbox)
    assert isinstance(lost, SlotLost) and (lost.device_id, lost.cause) == (device, cause)
    assert _is_silent(inbox), "lost once"
    assert fake_ray.killed == [actor]
    assert actor.killed_by[0] not in actor.called_by, "in a callback, ray.kill would wait for itself"


@pytest.mark.parametrize(("with_node", "cause"), [(False, Cause.INFRASTRUCTURE), (True, Cause.NODE_LOST)])
def test_dead_slot_is_lost_at_once(fake_ray: FakeRay, with_node: bool, cause: Cause) -> None:
    actor = FakeActor("cpu-0", exchanges=[ActorDiedError()])
    actor.has_lost_its_node = with_node
    fake_ray.actors = {"slot-cpu-0": actor}
    slots, inbox = fake_ray.slots()
    slots.attach()
    slots.send("cpu-0", 0, [])
    lost = _next(inbox)
    assert isinstance(lost, SlotLost) and lost.cause is cause
    assert len(actor.calls) == 1


def test_slot_is_lost_once_and_ignores_calls_until_it_is_open_again(fake_ray: FakeRay) -> None:
    """A second loss would kill the slot that replaces it."""
    slots, inbox = fake_ray.slots(1, replace(FAST, reopen_s=1.0))
    slots.open_missing()
    _opened_ids(inbox, 1)
    fake_ray.actors["slot-cpu-0"].exchanges = [ActorDiedError()]
    for _ in range(3):  # the scheduler has not read the inbox yet
        slots.send("cpu-0", 0, [])
    assert isinstance(_next(inbox), SlotLost)
    slots.send("cpu-0", 0, [])
    slots.kill("cpu-0")
    assert _opened_ids(inbox, 1) == {"cpu-0"}
    assert _is_silent(inbox)
    assert len(fake_ray.created) == 2


# Nodes.


def _join(fake_ray: FakeRay, name: str, node_id: str, *, cpus: int = 2, gpus: int = 0) -> None:
    fake_ray.nodes[node_id] = ClusterNode(node_id, name, cpus, gpus)


def _opened_ids(inbox: Inbox, count: int) -> set[str]:
    messages = [_next(inbox) for _ in range(count)]
    return {message.device.device_id for message in messages if isinstance(message, SlotOpened)}


def test_devices_of_a_node_that_joins_get_slots_with_its_name(fake_ray: FakeRay) -> None:
    slots, inbox = fake_ray.slots(1)
    slots.open_missing()
    assert _opened_ids(inbox, 1) == {"cpu-0"}
    _join(fake_ray, "b", "id-b")
    _join(fake_ray, "c", "id-c", gpus=1)
    assert _opened_ids(inbox, 3) == {"b:cpu-0", "b:cpu-1", "c:gpu-0"}
    assert [(place.node_id, place.kind) for place in fake_ray.created[1:]] == [("id-b", "cpu")] * 2 + [("id-c", "gpu")]
    assert slots.count == 1
    assert _is_silent(inbox)


def test_each_device_gets_the_slots_of_trials_that_share_it(fake_ray: FakeRay) -> None:
    slots, inbox = fake_ray.slots(2, trials_per_device=2)
    slots.open_missing()
    _join(fake_ray, "b", "id-b", gpus=1)
    assert _opened_ids(inbox, 6) == {"cpu-0", "cpu-0.1", "cpu-1", "cpu-1.1", "b:gpu-0", "b:gpu-0.1"}
    assert slots.count == 4
    assert [place.slot for place in fake_ray.created] == [0, 1] * 3


def test_slot_of_a_service_with_another_number_of_trials_per_device_is_replaced(fake_ray: FakeRay) -> None:
    fake_ray.actors = {"slot-cpu-0": FakeActor("cpu-0")}
    slots, _ = fake_ray.slots(trials_per_device=2)
    assert slots.attach() == []
    assert len(fake_ray.killed) == 1


def test_slots_of_a_node_that_has_left_are_lost_and_come_back_with_it(fake_ray: FakeRay) -> None:
    _join(fake_ray, "b", "id-b", cpus=1)
    slots, inbox = fake_ray.slots(1)
    slots.open_missing()
    assert _opened_ids(inbox, 2) == {"cpu-0", "b:cpu-0"}
    del fake_ray.nodes["id-b"]
    lost = _next(inbox)
    assert lost == SlotLost("b:cpu-0", "node b has left", Cause.NODE_LOST)
    assert fake_ray.killed == [fake_ray.actors["slot-b:cpu-0"]]
    _join(fake_ray, "b", "id-b-again", cpus=1)
    assert _opened_ids(inbox, 1) == {"b:cpu-0"}
    assert fake_ray.created[-1].node_id == "id-b-again"


def test_node_that_joins_again_before_its_loss_is_seen_gets_new_slots(fake_ray: FakeRay) -> None:
    _join(fake_ray, "b", "id-b", cpus=1)
    slots, inbox = fake_ray.slots(1)
    slots.open_missing()
    _opened_ids(inbox, 2)
    fake_ray.nodes = {"id-head": fake_ray.nodes["id-head"], "id-b-2": ClusterNode("id-b-2", "b", 1, 0)}
    assert isinstance(_next(inbox), SlotLost)
    assert _opened_ids(inbox, 1) == {"b:cpu-0"}
    assert fake_ray.created[-1].node_id == "id-b-2"


def test_silent_slot_of_another_node_is_lost_when_it_is_killed(fake_ray: FakeRay) -> None:
    """Without waiting for Ray, which reports it only when it gives up the node."""
    _join(fake_ray, "b", "id-b", cpus=1)
    slots, inbox = fake_ray.slots(1)
    slots.open_missing()
    _opened_ids(inbox, 2)
    actor = fake_ray.actors["slot-b:cpu-0"]
    assert actor.opened_with == [(7, FAST.remote_poll_s, FAST.abandoned_s)]
    actor.exchanges = [None]
    slots.send("b:cpu-0", 0, [])
    assert _is_silent(inbox)
    slots.kill("b:cpu-0")
    lost = _next(inbox)
    assert isinstance(lost, SlotLost) and (lost.device_id, lost.cause) == ("b:cpu-0", Cause.NODE_LOST)
    assert fake_ray.killed == [actor]
    assert _is_silent(inbox)


@pytest.mark.parametrize(("listens", "cause"), [(True, Cause.INFRASTRUCTURE), (False, Cause.NODE_LOST)])
def test_dead_slot_of_another_node_is_lost_with_it_if_its_raylet_is_gone(
    fake_ray: FakeRay, listens: bool, cause: Cause
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as raylet:
        address = raylet.getsockname()
        if not listens:
            raylet.close()
        fake_ray.nodes["id-b"] = ClusterNode("id-b", "b", 1, 0, address)
        slots, inbox = fake_ray.slots(1)
        slots.open_missing()
        _opened_ids(inbox, 2)
        fake_ray.actors["slot-b:cpu-0"].exchanges = [ActorDiedError()]
        slots.send("b:cpu-0", 0, [])
        lost = _next(inbox)
    assert isinstance(lost, SlotLost) and lost.cause is cause


def test_unavailable_slot_is_lost_at_once_if_no_raylet_listens_on_its_node(fake_ray: FakeRay) -> None:
    with socket.create_server(("127.0.0.1", 0)) as raylet:
        address = raylet.getsockname()
    fake_ray.nodes["id-b"] = ClusterNode("id-b", "b", 1, 0, address)
    slots, inbox = fake_ray.slots(1, replace(FAST, unavailable_s=3600.0))
    slots.open_missing()
    _opened_ids(inbox, 2)
    fake_ray.actors["slot-b:cpu-0"].exchanges = [UNAVAILABLE]
    slots.send("b:cpu-0", 0, [])
    lost = _next(inbox)
    assert isinstance(lost, SlotLost) and lost.cause is Cause.NODE_LOST


def test_replaced_scheduler_kills_and_creates_no_slot(fake_ray: FakeRay) -> None:
    """The next one may use the slots, which Ray knows by their names alone."""
    _join(fake_ray, "b", "id-b", cpus=1)
    slots, inbox = fake_ray.slots(1, replace(FAST, reopen_s=0.02))
    slots.open_missing()
    _opened_ids(inbox, 2)
    created = list(fake_ray.created)
    asked = queue.Queue[None]()

    def fenced() -> None:
        asked.put(None)
        raise FencedError("as played")

    fake_ray.confirm = fenced
    slots.kill("b:cpu-0")
    for _ in range(2):  # before it is killed, and before it is created again
        asked.get(timeout=10)
    fake_ray.actors["slot-cpu-0"].exchanges = [ActorDiedError()]
    slots.send("cpu-0", 0, [])
    asked.get(timeout=10)
    del fake_ray.nodes["id-b"]
    asked.get(timeout=10)
    assert isinstance(_next(inbox), SlotLost) and isinstance(_next(inbox), SlotLost) and _is_silent(inbox)
    assert fake_ray.killed == [] and fake_ray.created == created


def test_slot_is_killed_as_soon_as_the_lease_can_be_confirmed(fake_ray: FakeRay) -> None:
    fake_ray.actors = {"slot-cpu-0": FakeActor("cpu-0")}
    slots, _ = fake_ray.slots(timings=replace(FAST, reopen_s=0.02))
    slots.attach()
    tried = queue.Queue[None]()

    def unknown() -> None:
        tried.put(None)
        raise DatabaseError("no connection, as played")

    fake_ray.confirm = unknown
    slots.kill("cpu-0")
    for _ in range(2):
        tried.get(timeout=10)
    assert fake_ray.killed == []
    fake_ray.confirm = lambda: None
    until_s = time.monotonic() + 10
    while not fake_ray.killed and time.monotonic() < until_s:
        time.sleep(0.01)
    assert fake_ray.killed == [fake_ray.actors["slot-cpu-0"]]


def test_attach_after_the_lease_was_lost_kills_nothing(fake_ray: FakeRay) -> None:
    def fenced() -> None:
        raise FencedError("as played")

    fake_ray.actors = {"slot-cpu-0": FakeActor("cpu-0", opens=[ActorDiedError()])}
    slots, _ = fake_ray.slots()
    fake_ray.confirm = fenced
    with pytest.raises(FencedError):
        slots.attach()
    assert fake_ray.killed == []


def test_nodes_are_not_followed_after_a_supervisor_has_refused_this_scheduler(
    fake_ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots, _ = fake_ray.slots(1)
    slots.open_missing()
    (follower,) = [each for each in threading.enumerate() if each.name == "nodes"]

    def refused(*_: object) -> list[SlotPlace]:
        raise FencedError("the node b belongs to the scheduler with epoch 8")

    monkeypatch.setattr(OwnClusterDevices, "places", refused)
    follower.join(timeout=10)
    assert not follower.is_alive()
