"""Calls over the sockets of slots; the test is the slot."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.protocol.slot_process_messages import HELLO, Frames, encode_pid, frame
from podium.sweep.slots.local_slot_connections import LocalSlotConnection, LocalSlotConnections

WAIT_S = 10.0


class FakeSlot:
    """The other end of a connection."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen()
        self._frames = Frames()
        self._read: list[tuple[int, bytes]] = []
        self.connection: socket.socket | None = None

    def connected(self, connections: LocalSlotConnections) -> LocalSlotConnection:
        """A new connection, on which the slot has greeted."""
        client = connections.connect(self.path, os.getpid())
        self.connection, _ = self._listening.accept()
        self.connection.settimeout(WAIT_S)
        self.connection.sendall(frame(HELLO, encode_pid(os.getpid())))
        return client

    def next_call(self) -> tuple[int, bytes]:
        assert self.connection is not None
        while not self._read:
            content = self.connection.recv(1 << 16)
            assert content
            self._read += self._frames.feed(content)
        return self._read.pop(0)

    def answer(self, number: int, body: bytes) -> None:
        assert self.connection is not None
        self.connection.sendall(frame(number, body))

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self._listening.close()


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[FakeSlot]:
    made = FakeSlot(tmp_path / "s")
    yield made
    made.close()


def test_answers_belong_to_their_calls_in_any_order(slot: FakeSlot) -> None:
    client = slot.connected(LocalSlotConnections())
    first, second = client.call(b"a"), client.call(b"b")
    (one, body), (two, _) = slot.next_call(), slot.next_call()
    assert body == b"a" and one != two
    slot.answer(two, b"B")
    assert second.result(WAIT_S) == b"B" and not first.done()
    slot.answer(one, b"A")
    assert first.result(WAIT_S) == b"A"


def test_slots_of_one_thread_do_not_wait_for_each_other(slot: FakeSlot, tmp_path: Path) -> None:
    connections, other = LocalSlotConnections(), FakeSlot(tmp_path / "other")
    silent = slot.connected(connections).call(b"a")
    answered = other.connected(connections).call(b"b")
    other.answer(other.next_call()[0], b"B")
    assert answered.result(WAIT_S) == b"B" and not silent.done()
    other.close()


def test_calls_fail_when_the_slot_has_ended(slot: FakeSlot) -> None:
    connections = LocalSlotConnections()
    client = slot.connected(connections)
    waiting = client.call(b"a")
    assert slot.connection is not None
    slot.connection.close()
    with pytest.raises(ConnectionError, match="the connection to the slot is closed"):
        waiting.result(WAIT_S)
    with pytest.raises(ConnectionError):
        client.call(b"b").result(WAIT_S)
    again = slot.connected(connections)  # also if its descriptor is that of the closed one
    answer = again.call(b"c")
    slot.answer(slot.next_call()[0], b"C")
    assert answer.result(WAIT_S) == b"C"


def test_slot_that_breaks_the_protocol_loses_its_connection_alone(slot: FakeSlot, tmp_path: Path) -> None:
    connections, other = LocalSlotConnections(), FakeSlot(tmp_path / "other")
    broken, works = slot.connected(connections).call(b"a"), other.connected(connections).call(b"b")
    slot.answer(slot.next_call()[0] + 1, b"A")
    with pytest.raises(ConnectionError):
        broken.result(WAIT_S)
    other.answer(other.next_call()[0], b"B")
    assert works.result(WAIT_S) == b"B"
    other.close()


def test_slot_that_does_not_read_blocks_no_caller_and_gets_all_calls_in_order(slot: FakeSlot) -> None:
    client = slot.connected(LocalSlotConnections())
    bodies = [bytes([number]) * 200_000 for number in range(40)]  # more than a socket holds
    answers = [client.call(body) for body in bodies]
    for body in bodies:
        number, received = slot.next_call()
        assert received == body
        slot.answer(number, received[:1])
    assert [answer.result(WAIT_S) for answer in answers] == [body[:1] for body in bodies]


def test_process_that_is_not_the_slot_is_refused(slot: FakeSlot, tmp_path: Path) -> None:
    connections = LocalSlotConnections()
    with pytest.raises(ConnectionRefusedError, match=f"process {os.getpid()} listens there, not 1$"):
        connections.connect(slot.path, 1)
    with pytest.raises(FileNotFoundError):
        connections.connect(str(tmp_path / "missing"), os.getpid())
