"""A worker's two queues: requests are batched, expired ones are not computed, and a failing one fails alone."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import Reply, Request, pack_requests, unpack_replies
from podium.ensemble.worker import failing_network_detector
from podium.ensemble.worker.failing_network_detector import FailureTracker
from podium.ensemble.worker.inference_server import CRASH_EXIT_CODE, WorkerLimits, WorkerServer
from podium.ensemble.worker.input_queue import QueueCounts
from podium.ensemble.worker.neural_network_interface import NetworkOutputs
from tests.ensemble_fakes import FakeNetwork, probabilities
from tests.fakes import FakeClock
from tests.message_client import PATIENCE_S, MessageClient

EPOCH = 3


class Client:
    """A gateway, as the worker sees it."""

    def __init__(self, endpoint: str) -> None:
        self._messages = MessageClient(endpoint)
        self._next_id = 0
        self._received: deque[Reply] = deque()

    def send(
        self, first: float = 0.5, rows: int = 1, *, width: int = 2, left_ms: float = 60_000.0, epoch: int = EPOCH
    ) -> int:
        """Send `rows` rows that begin with `first`; returns the request's id."""
        self.send_all([self._request(first, rows, width, left_ms, epoch)])
        return self._next_id

    def send_bundle(self, *requests: tuple[float, int, float], epoch: int = EPOCH) -> list[int]:
        """Send requests of (first value, rows, left_ms) in one message; returns their ids."""
        made = [self._request(first, rows, 2, left_ms, epoch) for first, rows, left_ms in requests]
        self.send_all(made)
        return [request.request_id for request in made]

    def send_all(self, requests: Sequence[Request]) -> None:
        self._messages.send(pack_requests(requests))

    def send_frames(self, *frames: bytes) -> None:
        self._messages.send(frames)

    def reply(self) -> Reply:
        if not self._received:
            self._received += self.message()
        return self._received.popleft()

    def message(self) -> list[Reply]:
        """The replies of the next message."""
        return unpack_replies(self._messages.receive()).replies()

    def replies(self, count: int) -> dict[int, Reply]:
        """The next replies by request id."""
        found = [self.reply() for _ in range(count)]
        assert len({reply.request_id for reply in found}) == count
        return {reply.request_id: reply for reply in found}

    def catch_up(self) -> None:
        """Returns when the worker has queued all earlier requests: it answers a stale request immediately."""
        stale = self.send(epoch=EPOCH + 1)
        assert self.reply().request_id == stale

    def close(self) -> None:
        self._messages.close()

    def _request(self, first: float, rows: int, width: int, left_ms: float, epoch: int) -> Request:
        self._next_id += 1
        return Request(self._next_id, epoch, left_ms, np.full((rows, width), first, np.float32))


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork()


@pytest.fixture
def server(tmp_path: Path, network: FakeNetwork) -> Iterator[WorkerServer]:
    started = WorkerServer(f"unix:{tmp_path / 'm'}", EPOCH, network)
    started.start()
    yield started
    network.gate.set()
    started.close()


@contextmanager
def serving(
    tmp_path: Path, network: FakeNetwork, limits: WorkerLimits, clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[WorkerServer, Client]]:
    """A server with these limits, and a client."""
    server = WorkerServer(f"unix:{tmp_path / 'own'}", EPOCH, network, limits, clock=clock)
    server.start()
    client = Client(f"unix:{tmp_path / 'own'}")
    yield server, client
    client.close()
    network.gate.set()
    server.close()


@pytest.fixture
def client(tmp_path: Path, server: WorkerServer) -> Iterator[Client]:
    opened = Client(f"unix:{tmp_path / 'm'}")
    yield opened
    opened.close()


@pytest.fixture
def busy(client: Client, network: FakeNetwork) -> int:
    """The network blocks in the computation of a first request; its id."""
    network.gate.clear()
    first = client.send(0.0)
    network.entered.acquire()
    return first


def test_rows_are_answered_with_predictions(client: Client, server: WorkerServer) -> None:
    sent = client.send(0.25, rows=3)
    reply = client.reply()
    assert (reply.request_id, reply.epoch, reply.status) == (sent, EPOCH, "ok")
    assert reply.predictions is not None and reply.combined is None
    np.testing.assert_array_equal(reply.predictions, np.array([[[0.25, 0.75]] * 3], np.float32))
    assert reply.queue_ms >= 0 and reply.compute_ms >= 0


def test_in_graph_reply_has_all_predictions_and_their_combination(tmp_path: Path) -> None:
    with serving(tmp_path, FakeNetwork(members=4, in_graph=True), WorkerLimits()) as (_, client):
        client.send(0.5, rows=2)
        client.send(0.75)
        for rows, reply in zip((2, 1), client.replies(2).values(), strict=True):
            assert reply.predictions is not None and reply.predictions.shape == (4, rows, 2)
            assert reply.combined is not None and reply.combined.shape == (rows, 2)


def test_queued_requests_are_batched_and_each_gets_its_own_rows(
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


def test_requests_of_one_message_are_computed_together_and_answered_in_one(
    client: Client, server: WorkerServer, network: FakeNetwork
) -> None:
    sent = client.send_bundle((0.25, 2, 60_000.0), (0.5, 1, 60_000.0), (0.75, 3, 60_000.0))
    replies = client.message()
    assert network.batches == [6]
    assert [reply.request_id for reply in replies] == sent
    for reply, (first, rows) in zip(replies, ((0.25, 2), (0.5, 1), (0.75, 3)), strict=True):
        assert reply.predictions is not None and reply.predictions.shape == (1, rows, 2)
        assert (reply.predictions[..., 0] == first).all()
    assert (server.counts.received, server.counts.answered) == (3, 3)


def test_expired_and_failing_requests_of_a_message_end_alone(client: Client, network: FakeNetwork) -> None:
    sound, expired, failing, also_sound = client.send_bundle(
        (0.25, 1, 60_000.0), (0.5, 1, 0.0), (np.nan, 1, 60_000.0), (0.75, 2, 60_000.0)
    )
    replies = client.replies(4)
    assert {number: replies[number].status for number in replies} == {
        sound: "ok", expired: "expired", failing: "error", also_sound: "ok",
    }  # fmt: skip
    predictions = replies[also_sound].predictions
    assert predictions is not None and (predictions[..., 0] == 0.75).all()
    assert network.batches == [4, 1, 1, 2]


def test_message_that_does_not_fit_the_queue_is_refused_from_the_first_request_that_does_not(tmp_path: Path) -> None:
    network = FakeNetwork()
    with serving(tmp_path, network, WorkerLimits(queue_requests=2)) as (server, client):
        network.gate.clear()
        client.send()
        network.entered.acquire()
        *queued, third, fourth = client.send_bundle(*[(0.5, 1, 60_000.0)] * 4)
        refused = client.message()
        assert [(reply.request_id, reply.status, reply.message) for reply in refused] == [
            (third, "refused", "queue full"), (fourth, "refused", "queue full"),
        ]  # fmt: skip
        network.gate.set()
        assert set(queued) < set(client.replies(3))
        assert server.counts.refused == 2


def test_message_for_another_epoch_is_refused_whole(client: Client, server: WorkerServer, network: FakeNetwork) -> None:
    sent = client.send_bundle((0.5, 1, 60_000.0), (0.5, 1, 60_000.0), epoch=EPOCH + 1)
    assert [(reply.request_id, reply.status, reply.message) for reply in client.message()] == [
        (number, "refused", "stale epoch") for number in sent
    ]
    assert (server.counts.received, server.counts.refused, network.batches) == (2, 2, [])


def test_batch_of_two_gateways_is_answered_to_each(client: Client, tmp_path: Path, network: FakeNetwork) -> None:
    network.gate.clear()
    first = client.send()
    network.entered.acquire()
    other = Client(f"unix:{tmp_path / 'm'}")
    mine, theirs = client.send_bundle((0.25, 1, 60_000.0), (0.5, 2, 60_000.0)), other.send(0.75)
    client.catch_up()
    other.catch_up()
    network.gate.set()
    assert set(client.replies(3)) == {first, *mine}
    assert other.reply().request_id == theirs
    assert network.batches == [1, 4]
    other.close()


def test_next_batch_starts_before_the_last_one_is_delivered(client: Client, network: FakeNetwork, busy: int) -> None:
    """While the network computes, requests are queued; when it is free it takes them."""
    waiting = {client.send(), client.send()}
    client.catch_up()
    network.gate.set()
    network.entered.acquire()  # the second computation is running, and the first answer has not been read
    assert network.batches == [1, 2]
    assert set(client.replies(3)) == {busy, *waiting}


def test_single_request_is_computed_by_the_thread_that_received_it(
    client: Client, server: WorkerServer, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[tuple[str, str]] = []
    accept, predict = server.accept, network.predict

    def recorded(step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: object) -> Any:
            threads.append((step, threading.current_thread().name))
            return call(*arguments)

        return run

    monkeypatch.setattr(server, "accept", recorded("receive", accept))
    monkeypatch.setattr(network, "predict", recorded("compute", predict))
    for _ in range(20):
        client.send()
        client.reply()
        while server.computing.locked():  # it looks for further requests after a reply
            time.sleep(0.001)
    assert [step for step, _ in threads] == ["receive", "compute"] * 20
    for (_, receiving), (_, computing) in zip(threads[::2], threads[1::2], strict=True):
        assert receiving == computing


def test_call_is_made_at_once_if_nothing_is_computed(server: WorkerServer, client: Client) -> None:
    calls: list[threading.Thread] = []
    server.call_between(lambda: calls.append(threading.current_thread()))
    assert calls == [threading.current_thread()]
    sent = client.send()
    assert client.reply().request_id == sent


def test_call_is_made_before_the_next_batch(
    server: WorkerServer, client: Client, busy: int, network: FakeNetwork
) -> None:
    batches: list[int] = []
    server.call_between(lambda: batches.extend(network.batches))
    assert not batches, "the network computes"
    second = client.send(rows=2)
    client.catch_up()
    network.gate.set()
    assert set(client.replies(2)) == {busy, second}
    assert batches == [1]


def test_request_that_arrives_during_a_call_is_computed(server: WorkerServer, client: Client) -> None:
    sent: list[int] = []

    def call() -> None:
        sent.append(client.send())
        client.catch_up()  # a thread has received it, and cannot compute

    server.call_between(call)
    assert client.reply().request_id == sent[0]


def test_request_that_arrives_as_the_other_thread_stops_computing_is_computed(
    client: Client, server: WorkerServer, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute, lingered = server.compute, threading.Event()
    late: list[int] = []

    def compute_and_linger() -> None:
        """Ends when the other thread has queued a request and found this one computing."""
        compute()
        if not late:
            client.reply()
            late.append(client.send())
            while server.counts.queued == 0:
                time.sleep(0.001)
            client.catch_up()
            lingered.set()

    monkeypatch.setattr(server, "compute", compute_and_linger)
    client.send()
    assert lingered.wait(PATIENCE_S)
    assert client.reply().request_id == late[0]


def test_batch_is_limited_and_a_larger_request_is_computed_alone(tmp_path: Path) -> None:
    network = FakeNetwork()
    with serving(tmp_path, network, WorkerLimits(batch_rows=4)) as (_, client):
        network.gate.clear()
        client.send()
        network.entered.acquire()
        for rows in (3, 1, 2, 9, 4, 1):
            client.send(rows=rows)
        client.catch_up()
        network.gate.set()
        client.replies(7)
    assert network.batches == [1, 4, 2, 9, 4, 1]


def test_expired_request_is_never_computed(client: Client, network: FakeNetwork) -> None:
    for left_ms in (0.0, -5.0):
        sent = client.send(left_ms=left_ms)
        reply = client.reply()
        assert (reply.request_id, reply.status, reply.predictions) == (sent, "expired", None)
    assert network.batches == []


def test_request_that_expires_in_the_queue_is_dropped(tmp_path: Path, network: FakeNetwork) -> None:
    clock = FakeClock()
    with serving(tmp_path, network, WorkerLimits(), clock.monotonic_s) as (_, client):
        network.gate.clear()
        client.send(left_ms=1000)
        network.entered.acquire()
        hurried, patient = client.send(left_ms=1000, rows=7), client.send(left_ms=9000)
        client.catch_up()
        clock.advance(2.0)
        network.gate.set()
        replies = client.replies(3)
    assert (replies[hurried].status, replies[patient].status) == ("expired", "ok")
    assert network.batches == [1, 1]
    assert replies[patient].queue_ms == pytest.approx(2000)


def test_only_the_failing_request_of_a_batch_fails(
    client: Client, network: FakeNetwork, server: WorkerServer, busy: int
) -> None:
    sound = [client.send(0.25), client.send(0.75)]
    failing = client.send(np.nan)
    sound.append(client.send(0.5))
    client.catch_up()
    network.gate.set()
    replies = client.replies(5)
    assert [replies[request_id].status for request_id in sound] == ["ok"] * 3
    assert (replies[failing].status, replies[failing].message) == ("error", "ArithmeticError: poison")
    assert network.batches == [1, 4, 1, 1, 1, 1]  # each is retried once
    assert (server.counts.answered, server.counts.errors) == (4, 1)


def test_request_of_another_width_is_computed_separately(client: Client, network: FakeNetwork, busy: int) -> None:
    sound = [client.send(0.25), client.send(0.75)]
    failing = client.send(np.nan, width=5)
    sound.append(client.send(0.5))
    client.catch_up()
    network.gate.set()
    replies = client.replies(5)
    assert {replies[request_id].status for request_id in sound} == {"ok"}
    assert replies[failing].status == "error"
    assert network.batches == [1, 3, 1]


def test_request_may_expire_before_its_retry(
    tmp_path: Path, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    predict = network.predict

    def slow(inputs: NDArray[np.float32]) -> NetworkOutputs:
        clock.advance(2.0 if len(inputs) == 2 else 0.0)
        return predict(inputs)

    monkeypatch.setattr(network, "predict", slow)
    with serving(tmp_path, network, WorkerLimits(), clock.monotonic_s) as (server, client):
        network.gate.clear()
        client.send(0.0)
        network.entered.acquire()
        hurried, patient = client.send(left_ms=1000), client.send(np.nan, left_ms=9000)
        client.catch_up()
        network.gate.set()
        replies = client.replies(3)
        assert (replies[hurried].status, replies[patient].status) == ("expired", "error")
        assert server.counts.computing == server.counts.queued == 0


def test_failed_member_is_named_and_the_others_are_returned(tmp_path: Path) -> None:
    network = FakeNetwork(members=3, in_graph=True)
    network.broken = {1: "CudaError: gone"}
    with serving(tmp_path, network, WorkerLimits()) as (server, client):
        client.send(0.25)
        reply = client.reply()
        assert (reply.status, reply.failed, reply.combined) == ("ok", {"1": "CudaError: gone"}, None)
        assert reply.predictions is not None
        assert np.isnan(reply.predictions[:, 0, 0]).tolist() == [False, True, False]
        assert server.counts.answered == 1


@pytest.mark.parametrize("members", [1, 2])
def test_failure_of_every_member_is_an_error(tmp_path: Path, members: int) -> None:
    network = FakeNetwork(members)
    network.broken = dict.fromkeys(range(members), "gone")
    with serving(tmp_path, network, WorkerLimits()) as (server, client):
        client.send()
        reply = client.reply()
        assert (reply.status, reply.message, reply.predictions) == ("error", "; ".join(["gone"] * members), None)
        assert server.counts.errors == 1


def test_member_that_always_fails_is_retried_once(tmp_path: Path) -> None:
    network = FakeNetwork(members=3)
    network.broken = {2: "gone"}
    with serving(tmp_path, network, WorkerLimits()) as (_, client):
        for _ in range(2):
            network.gate.clear()
            client.send()
            network.entered.acquire()
            client.send()
            client.send()
            client.catch_up()
            network.gate.set()
            assert {reply.status for reply in client.replies(3).values()} == {"ok"}
            while network.entered.acquire(blocking=False):
                pass
    assert network.batches == [1, 2, 1, 1, 1, 2]


def test_request_that_fails_one_member_does_not_affect_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = FakeNetwork(members=2)
    predict = network.predict

    def second_fails_on_nine(inputs: NDArray[np.float32]) -> NetworkOutputs:
        network.broken = {1: "nine"} if (inputs == 9).any() else {}
        return predict(inputs)

    monkeypatch.setattr(network, "predict", second_fails_on_nine)
    with serving(tmp_path, network, WorkerLimits()) as (_, client):
        network.gate.clear()
        client.send()
        network.entered.acquire()
        sound, failing = client.send(0.5), client.send(9.0)
        client.catch_up()
        network.gate.set()
        replies = client.replies(3)
    assert (replies[sound].failed, replies[failing].failed) == ({}, {"1": "nine"})


def test_nonfinite_predictions_are_returned_unchanged(client: Client) -> None:
    client.send(np.inf)
    reply = client.reply()
    assert reply.status == "ok" and reply.predictions is not None
    np.testing.assert_array_equal(reply.predictions, [[[np.inf, -np.inf]]])


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (NetworkOutputs(probabilities(0.5, rows=3), {}, None), "predictions of shape (1, 3, 2) for 2 rows"),
        (NetworkOutputs(probabilities(0.5)[0], {}, None), "predictions of shape (2, 2)"),
        (NetworkOutputs(probabilities(0.5), {}, probabilities(0.5)), "combination of shape (1, 2, 2)"),
        (NetworkOutputs(probabilities(0.5).astype(np.float64), {}, None), "float32"),
    ],
)
def test_wrong_number_of_predictions_is_an_error(
    client: Client, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch, predicted: NetworkOutputs, message: str
) -> None:
    monkeypatch.setattr(network, "predict", lambda _: predicted)
    client.send(rows=2)
    reply = client.reply()
    assert reply.status == "error" and message in reply.message


def test_long_error_message_is_truncated(client: Client, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    def predict(_: object) -> None:
        raise ValueError("x" * 10_000)

    monkeypatch.setattr(network, "predict", predict)
    client.send()
    assert len(client.reply().message) == 500


@pytest.mark.parametrize("epoch", [EPOCH - 1, EPOCH + 1, 0])
def test_request_for_another_epoch_is_refused(client: Client, network: FakeNetwork, epoch: int) -> None:
    sent = client.send(epoch=epoch)
    reply = client.reply()
    assert (reply.request_id, reply.epoch, reply.status, reply.message) == (sent, EPOCH, "refused", "stale epoch")
    assert network.batches == []


@pytest.mark.parametrize(
    "limits", [WorkerLimits(queue_requests=2), WorkerLimits(queue_bytes=16)], ids=["requests", "bytes"]
)
def test_request_is_refused_when_the_queue_is_full(tmp_path: Path, limits: WorkerLimits) -> None:
    network = FakeNetwork()
    network.gate.clear()
    with serving(tmp_path, network, limits) as (server, client):
        client.send()
        network.entered.acquire()
        waiting = [client.send(), client.send()]  # 8 bytes each
        refused = client.send()
        reply = client.reply()
        assert (reply.request_id, reply.status, reply.message) == (refused, "refused", "queue full")
        assert (server.counts.queued, server.counts.queued_bytes) == (2, 16)
        network.gate.set()
        assert set(waiting) < set(client.replies(3))
        assert (server.counts.queued, server.counts.queued_bytes) == (0, 0)


def test_request_larger_than_the_queue_may_wait_alone(tmp_path: Path) -> None:
    with serving(tmp_path, FakeNetwork(), WorkerLimits(queue_bytes=16)) as (_, client):
        client.send(rows=100)
        assert client.reply().status == "ok"


@pytest.mark.parametrize(
    "frames",
    [
        (b"",),
        (b"hello", b"world"),
        (b'{"request_ids":[1],"epoch":3,"left_ms":["soon"],"rows":[1],"features":1}', b"\0" * 4),
        (b'{"request_ids":[1],"epoch":3,"left_ms":[9],"rows":[1000000],"features":1000000}', b"\0" * 4),
        (b"1", b"2", b"3"),
    ],
)
def test_garbled_message_is_counted_and_the_next_is_answered(
    client: Client, server: WorkerServer, frames: tuple[bytes, ...]
) -> None:
    client.send_frames(*frames)
    client.send()
    assert client.reply().status == "ok"
    assert server.counts.malformed == 1


def test_two_gateways_get_their_own_answers(client: Client, tmp_path: Path) -> None:
    other = Client(f"unix:{tmp_path / 'm'}")
    client.send(0.25)
    other.send(0.75)
    mine, theirs = client.reply().predictions, other.reply().predictions
    assert mine is not None and theirs is not None
    assert (mine[0, 0, 0], theirs[0, 0, 0]) == (0.25, 0.75)
    other.close()


def test_disconnected_gateway_does_not_affect_another(
    client: Client, tmp_path: Path, network: FakeNetwork, busy: int
) -> None:
    other = Client(f"unix:{tmp_path / 'm'}")
    other.send()
    other.catch_up()
    other.close()
    mine = client.send()
    network.gate.set()
    assert set(client.replies(2)) == {busy, mine}


def test_every_request_is_counted_once_under_any_load(
    client: Client, server: WorkerServer, network: FakeNetwork
) -> None:
    choose = random.Random(7)
    sent = 0
    for _ in range(40):
        if choose.random() < 0.5:
            network.gate.clear()
        for _ in range(choose.randrange(12)):
            kind = choose.randrange(5)
            if kind == 4:
                client.send_frames(b"?")
                continue
            client.send(
                np.nan if kind == 1 else 0.5,
                choose.randrange(1, 40),
                left_ms=0.0 if kind == 2 else 60_000.0,
                epoch=EPOCH + (kind == 3),
            )
            sent += 1
        counts = server.counts
        assert counts.received == _ended(counts) + counts.queued + counts.computing
        network.gate.set()
    statuses = Counter(reply.status for reply in client.replies(sent).values())
    counts = server.counts
    assert statuses == {
        "ok": counts.answered, "error": counts.errors, "expired": counts.expired, "refused": counts.refused,
    }  # fmt: skip
    assert (counts.received, _ended(counts), counts.queued, counts.computing) == (sent, sent, 0, 0)
    assert counts.malformed > 0


def _ended(counts: QueueCounts) -> int:
    return counts.answered + counts.errors + counts.expired + counts.refused


def test_server_replaces_a_socket_file_left_by_a_dead_worker(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "own"))
    left.close()
    with serving(tmp_path, FakeNetwork(), WorkerLimits()) as (_, client):
        client.send()
        assert client.reply().status == "ok"


def test_close_does_not_wait_for_queued_requests(tmp_path: Path, network: FakeNetwork) -> None:
    server = WorkerServer(f"unix:{tmp_path / 'm'}", EPOCH, network)
    server.close()  # it was never started
    with serving(tmp_path, network, WorkerLimits(batch_wait_ms=1e9)) as (server, client):
        client.send(left_ms=1e9)
        client.catch_up()
        assert server.counts.queued == 1
    assert network.batches == []


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit()], ids=lambda e: type(e).__name__)
def test_end_of_a_thread_ends_the_process(
    tmp_path: Path, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def predict(_: object) -> None:
        raise error

    monkeypatch.setattr(network, "predict", predict)
    ended = threading.Event()
    server = WorkerServer(f"unix:{tmp_path / 'm'}", EPOCH, network, end_process=ended.set)
    server.start()
    client = Client(f"unix:{tmp_path / 'm'}")
    client.send()
    assert ended.wait(PATIENCE_S)
    client.close()
    server.close()


@pytest.mark.parametrize("zeros_fail", [True, False], ids=["a sticky error", "one client's rows"])
def test_network_that_fails_on_every_input_ends_the_process(
    tmp_path: Path, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch, zeros_fail: bool
) -> None:
    tried = threading.Event()

    def predict(inputs: NDArray[np.float32]) -> NetworkOutputs:
        if not inputs.any():
            tried.set()
        if zeros_fail or inputs.any():
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return NetworkOutputs(probabilities(0.5, len(inputs)), {}, None)

    monkeypatch.setattr(network, "predict", predict)
    ended = threading.Event()
    server = WorkerServer(f"unix:{tmp_path / 'm'}", EPOCH, network, end_process=ended.set, failures=FailureTracker(0.0))
    server.start()
    client = Client(f"unix:{tmp_path / 'm'}")
    for _ in range(failing_network_detector.MIN_FAILURES):
        assert not tried.is_set()
        client.send()
        assert client.reply().status == "error"
    assert tried.wait(PATIENCE_S)
    client.send()
    client.reply()  # the network is checked before it computes again
    assert ended.is_set() == zeros_fail
    client.close()
    server.close()


def test_network_is_checked_with_a_known_row(
    tmp_path: Path, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, tried = np.full((1, 5), 7, np.float32), threading.Event()

    def predict(inputs: NDArray[np.float32]) -> NetworkOutputs:
        if inputs is not known:
            raise IndexError("there are no such words")
        tried.set()
        return NetworkOutputs(probabilities(0.5, len(inputs)), {}, None)

    monkeypatch.setattr(network, "predict", predict)
    ended = threading.Event()
    server = WorkerServer(
        f"unix:{tmp_path / 'm'}", EPOCH, network, end_process=ended.set, known_row=known, failures=FailureTracker(0.0)
    )
    server.start()
    client = Client(f"unix:{tmp_path / 'm'}")
    for _ in range(failing_network_detector.MIN_FAILURES + 1):
        client.send()
        assert client.reply().status == "error"
    assert tried.is_set() and not ended.is_set()
    client.close()
    server.close()


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 10)), max_size=200))
def test_network_is_suspected_after_enough_failures_over_time_without_success(
    computed: list[tuple[bool, float]],
) -> None:
    tracker, now_s, row = FailureTracker(), 0.0, list[float]()
    for worked, passed_s in computed:
        now_s += passed_s
        if worked:
            tracker.record_success()
            row.clear()
        else:
            row.append(now_s)
            lasts = now_s - row[0] >= failing_network_detector.MIN_FAILING_S
            enough = len(row) >= failing_network_detector.MIN_FAILURES and lasts
            assert tracker.record_failure(now_s) == enough


def test_process_exits(tmp_path: Path) -> None:
    program = (
        "import sys, threading\n"
        "from podium.ensemble.worker.inference_server import WorkerServer\n"
        "class Network:\n"
        "    def predict(self, inputs): sys.exit(0)\n"
        f"WorkerServer({f'unix:{tmp_path}/m'!r}, {EPOCH}, Network()).start()\n"
        "threading.Event().wait()\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", program])
    client = Client(f"unix:{tmp_path / 'm'}")
    client.send()
    assert worker.wait(PATIENCE_S) == CRASH_EXIT_CODE
    client.close()


def test_out_of_memory_is_an_error_of_the_request(
    client: Client, network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def predict(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(network, "predict", predict)
    client.send()
    reply = client.reply()
    assert (reply.status, reply.message) == ("error", "MemoryError: ")
