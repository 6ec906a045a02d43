"""A worker's two queues: what waits is computed together, what is too late is not computed, a culprit fails alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zmq

from ensemble import member as module
from ensemble.member import MemberServer
from ensemble.wire import Reply, Request
from tests.ensemble_fakes import FakeNetwork

EPOCH = 3
PATIENCE_MS = 30_000  # a reply that has not come by then never will


class Client:
    """A gateway, as the worker sees it."""

    def __init__(self, endpoint: str) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVTIMEO, PATIENCE_MS)
        self._socket.connect(endpoint)
        self._next_id = 0

    def send(
        self, first: float = 0.5, rows: int = 1, *, width: int = 2, left_ms: float = 60_000.0, epoch: int = EPOCH
    ) -> int:
        """Send `rows` rows that begin with `first`; returns the request's id."""
        self._next_id += 1
        inputs = np.full((rows, width), first, np.float32)
        self._socket.send_multipart(Request(self._next_id, epoch, left_ms, inputs).frames())
        return self._next_id

    def send_frames(self, *frames: bytes) -> None:
        self._socket.send_multipart(frames)

    def reply(self) -> Reply:
        return Reply.parse(self._socket.recv_multipart())

    def replies(self, count: int) -> dict[int, Reply]:
        """The next replies by request id."""
        found = [self.reply() for _ in range(count)]
        assert len({reply.request_id for reply in found}) == count
        return {reply.request_id: reply for reply in found}

    def catch_up(self) -> None:
        """Returns when the worker has taken in all that was sent before: it answers a stale request at once."""
        stale = self.send(epoch=EPOCH + 1)
        assert self.reply().request_id == stale

    def close(self) -> None:
        self._context.destroy(linger=0)


@pytest.fixture(autouse=True)
def _closes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_POLL_MS", 5)  # how often a worker looks whether it is to close


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork()


@pytest.fixture
def server(tmp_path: Path, network: FakeNetwork) -> Iterator[MemberServer]:
    started = MemberServer(f"ipc://{tmp_path / 'm'}", EPOCH, network)
    started.start()
    yield started
    network.gate.set()
    started.close()


@pytest.fixture
def client(tmp_path: Path, server: MemberServer) -> Iterator[Client]:
    opened = Client(f"ipc://{tmp_path / 'm'}")
    yield opened
    opened.close()


@pytest.fixture
def busy(client: Client, network: FakeNetwork) -> int:
    """The network stands still in the middle of a first request, whose id this is."""
    network.gate.clear()
    first = client.send(0.0)
    network.entered.acquire()
    return first


def test_rows_in_predictions_out(client: Client, server: MemberServer) -> None:
    sent = client.send(0.25, rows=3)
    reply = client.reply()
    assert (reply.request_id, reply.epoch, reply.status) == (sent, EPOCH, "ok")
    assert reply.predictions is not None and reply.combined is None
    np.testing.assert_array_equal(reply.predictions, np.array([[[0.25, 0.75]] * 3], np.float32))
    assert reply.queue_ms >= 0 and reply.compute_ms >= 0


def test_in_graph_the_predictions_of_all_members_and_their_combination_go_out(tmp_path: Path) -> None:
    server = MemberServer(f"ipc://{tmp_path / 'm'}", EPOCH, FakeNetwork(members=4, in_graph=True))
    server.start()
    client = Client(f"ipc://{tmp_path / 'm'}")
    client.send(0.5, rows=2)
    client.send(0.75)
    for rows, reply in zip((2, 1), client.replies(2).values(), strict=True):
        assert reply.predictions is not None and reply.predictions.shape == (4, rows, 2)
        assert reply.combined is not None and reply.combined.shape == (rows, 2)
    client.close()
    server.close()


def test_what_waits_is_computed_together_and_each_gets_its_own_rows(
    client: Client, network: FakeNetwork, busy: int
) -> None:
    sent = {client.send(n / 8, rows=n): n for n in (1, 2, 3)}
    client.catch_up()
    network.gate.set()
    replies = client.replies(4)
    assert network.batches == [1, 6]
    for request_id, n in sent.items():
        predictions = replies[request_id].predictions
        assert predictions is not None and predictions.shape == (1, n, 2)
        assert (predictions[..., 0] == n / 8).all()


def test_a_batch_ends_once_it_has_enough_rows(
    client: Client, network: FakeNetwork, busy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_ROWS", 4)
    for rows in (3, 2, 4, 1):
        client.send(rows=rows)
    client.catch_up()
    network.gate.set()
    client.replies(5)
    assert network.batches == [1, 5, 4, 1]


def test_what_has_no_time_left_is_never_computed(client: Client, network: FakeNetwork) -> None:
    for left_ms in (0.0, -5.0):
        sent = client.send(left_ms=left_ms)
        reply = client.reply()
        assert (reply.request_id, reply.status, reply.predictions) == (sent, "expired", None)
    assert network.batches == []


def test_what_became_too_late_in_the_queue_is_dropped_and_the_rest_is_computed(
    client: Client, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    network.gate.clear()
    client.send(left_ms=1000)
    network.entered.acquire()
    hurried, patient = client.send(left_ms=1000, rows=7), client.send(left_ms=9000)
    client.catch_up()
    clock.now += 2.0
    network.gate.set()
    replies = client.replies(3)
    assert (replies[hurried].status, replies[patient].status) == ("expired", "ok")
    assert network.batches == [1, 1]
    assert replies[patient].queue_ms == pytest.approx(2000)


@pytest.mark.parametrize("poison", [{"first": np.nan}, {"width": 5, "first": np.nan}], ids=["fails", "another width"])
def test_only_the_culprit_of_a_failed_batch_fails(
    client: Client, network: FakeNetwork, server: MemberServer, busy: int, poison: dict[str, float]
) -> None:
    sound = [client.send(0.25), client.send(0.75)]
    culprit = client.send(**poison)  # type: ignore[arg-type]
    sound.append(client.send(0.5))
    client.catch_up()
    network.gate.set()
    replies = client.replies(5)
    assert [replies[request_id].status for request_id in sound] == ["ok"] * 3
    assert (replies[culprit].status, replies[culprit].message) == ("error", "ArithmeticError: poison")
    assert (server.counts.answered, server.counts.errors) == (4, 1)


def test_a_long_error_is_cut(client: Client, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    def predict(_: object) -> None:
        raise ValueError("x" * 10_000)

    monkeypatch.setattr(network, "predict", predict)
    client.send()
    assert len(client.reply().message) == 500


@pytest.mark.parametrize("epoch", [EPOCH - 1, EPOCH + 1, 0])
def test_a_request_for_another_epoch_is_refused(client: Client, network: FakeNetwork, epoch: int) -> None:
    sent = client.send(epoch=epoch)
    reply = client.reply()
    assert (reply.request_id, reply.epoch, reply.status, reply.message) == (sent, EPOCH, "refused", "stale epoch")
    assert network.batches == []


def test_above_the_queues_length_requests_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = FakeNetwork()
    network.gate.clear()
    with monkeypatch.context() as patch:
        patch.setattr(module, "QUEUE_REQUESTS", 2)  # of the input queue alone: the socket's must hold all answers
        server = MemberServer(f"ipc://{tmp_path / 'm'}", EPOCH, network)
    server.start()
    client = Client(f"ipc://{tmp_path / 'm'}")
    client.send()
    network.entered.acquire()
    waiting = [client.send(), client.send()]
    refused = client.send()
    reply = client.reply()
    assert (reply.request_id, reply.status, reply.message) == (refused, "refused", "queue full")
    network.gate.set()
    assert set(waiting) < set(client.replies(3))
    client.close()
    server.close()


@pytest.mark.parametrize(
    "frames",
    [
        (b"",),
        (b"hello", b"world"),
        (b'{"request_id":1,"epoch":3,"left_ms":"soon","shape":[1,1]}', b"\0" * 4),
        (b'{"request_id":1,"epoch":3,"left_ms":9,"shape":[1000000,1000000]}', b"\0" * 4),
        (b"1", b"2", b"3"),
    ],
)
def test_what_is_no_request_is_counted_and_the_next_is_answered(
    client: Client, server: MemberServer, frames: tuple[bytes, ...]
) -> None:
    client.send_frames(*frames)
    client.send()
    assert client.reply().status == "ok"
    assert server.counts.garbled == 1


def test_two_gateways_get_their_own_answers(client: Client, tmp_path: Path) -> None:
    other = Client(f"ipc://{tmp_path / 'm'}")
    client.send(0.25)
    other.send(0.75)
    mine, theirs = client.reply().predictions, other.reply().predictions
    assert mine is not None and theirs is not None
    assert (mine[0, 0, 0], theirs[0, 0, 0]) == (0.25, 0.75)
    other.close()


def test_a_gateway_that_leaves_stops_nobody_elses_answers(
    client: Client, tmp_path: Path, network: FakeNetwork, busy: int
) -> None:
    other = Client(f"ipc://{tmp_path / 'm'}")
    other.send()
    other.catch_up()
    other.close()
    mine = client.send()
    network.gate.set()
    assert set(client.replies(2)) == {busy, mine}


def test_every_request_that_came_is_counted_once(
    client: Client, server: MemberServer, network: FakeNetwork, busy: int
) -> None:
    for _ in range(10):
        client.send(0.5)
        client.send(np.nan)
        client.send(left_ms=0)
        client.send(epoch=0)
        client.send_frames(b"?")
    network.gate.set()
    statuses = [reply.status for reply in client.replies(41).values()]
    counts = server.counts
    assert (counts.answered, counts.errors, counts.expired, counts.refused) == (11, 10, 10, 10)
    assert {status: statuses.count(status) for status in set(statuses)} == {
        "ok": 11, "error": 10, "expired": 10, "refused": 10,
    }  # fmt: skip
    assert counts.garbled == 10
