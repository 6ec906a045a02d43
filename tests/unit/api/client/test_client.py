"""The Python client: resources of the API, errors with the server's messages, and the upload of code."""

from __future__ import annotations

import fcntl
import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from podium.api.client.client import Client
from podium.api.client.notebook_objects import Sweep
from podium.db.stores import nodes
from podium.sweep.values.errors import (
    EnsembleError,
    InvalidSpecError,
    NotFoundError,
    NotPossibleError,
    PodiumError,
    ServiceError,
)
from tests.node_reports import node_report
from tests.service_rig import ServiceRig
from tests.specs import builtin_document, document


@pytest.fixture
def podium(service: ServiceRig) -> Client:
    """A client of the API in this process."""
    return Client("http://testserver", "token-of-admin", http=service.client())


def answering(
    handler: Callable[[httpx2.Request], httpx2.Response], *, retry_s: float = 0, pause_s: float = 0
) -> Client:
    """A client whose server is a function; by default it does not retry, and waiting methods do not pause."""
    http = httpx2.Client(base_url="http://testserver", transport=httpx2.MockTransport(handler))
    made = Client("http://testserver", "token", retry_s=retry_s, http=http)
    made.poll_s, made.pause_s = 0, pause_s
    return made


def test_sweep_is_followed_from_submission_to_its_end(podium: Client, service: ServiceRig) -> None:
    sweep = podium.submit(builtin_document(), idempotency_key="k")
    assert podium.submit(builtin_document(), idempotency_key="k") == sweep
    trial_id = service.trial(sweep["id"], 0, 0.5, log="hello\n")
    service.points(trial_id, "val_accuracy", 0.25, 0.5)
    service.end_sweep(sweep["id"])
    assert podium.wait(sweep["id"])["state"] == "finished"
    assert [found["id"] for found in podium.sweeps()] == [sweep["id"]]
    assert podium.best(sweep["id"], 5)[0]["trial_id"] == trial_id
    assert podium.trial(trial_id)["value"] == 0.5
    assert podium.metrics(trial_id) == {"val_accuracy": [[0, 0.25], [1, 0.5]]}
    assert podium.log(trial_id) == "hello\n"
    ensemble = podium.build_ensemble(sweep["id"], k=1)
    assert podium.ensemble(ensemble["id"])["name"] == "small-1"
    assert podium.stop_ensemble(ensemble["id"])["state"] == "stopped"


def test_sweep_is_paused_resumed_and_extended(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    steps = (podium.pause_sweep, podium.resume_sweep, podium.stop_sweep)
    assert [step(sweep_id)["state"] for step in steps] == ["paused", "queued", "stopping"]
    extended = podium.extend_sweep(sweep_id, 9, priority=2.0)
    assert (extended["state"], extended["run_cap"], extended["priority"]) == ("queued", 9, 2.0)
    assert podium.extend_sweep(sweep_id, priority=3.0)["run_cap"] == 9
    assert podium.cancel_sweep(sweep_id)["state"] == "cancelled"
    with pytest.raises(NotPossibleError, match="a cancelled sweep cannot be stopped; possible: none") as caught:
        podium.stop_sweep(sweep_id)
    assert caught.value.possible == ()


def test_sweep_is_organized(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep(name="old")
    service.end_sweep(sweep_id)
    assert podium.rename_sweep(sweep_id, "new")["name"] == "new"
    assert podium.describe_sweep(sweep_id, "*why*")["description"] == "*why*"
    assert podium.tag_sweep(sweep_id, ["a", "b"])["tags"] == ["a", "b"]
    assert podium.tag_sweep(sweep_id, remove=["a"])["tags"] == ["b"]
    assert podium.move_sweep(sweep_id, "vision")["project"] == "vision"
    assert podium.star_sweep(sweep_id)["starred"] and not podium.star_sweep(sweep_id, False)["starred"]
    assert podium.archive_sweep(sweep_id)["archived"]
    assert [list(podium.sweeps()), [each["id"] for each in podium.sweeps(filter="is:archived")]] == [[], [sweep_id]]
    assert podium.projects() == [{"name": "vision", "sweeps": 1, "archived": 1}]
    view = podium.save_view("best", {"sort": "-value"}, project="vision")
    assert podium.views("vision") == [view] and podium.views() == []
    assert podium.delete_view(view["id"]) == view
    assert [each["kind"] for each in podium.search("vision")] == ["project", "sweep"]
    trial_id = service.trial(sweep_id, 0, 0.5)
    assert podium.images(trial_id) == []
    assert [row["id"] for row in podium.compare([sweep_id], [trial_id])] == [trial_id]
    assert podium.histories([sweep_id])[0]["improvements"][0]["value"] == 0.5


def test_trial_is_stopped_and_cloned_and_a_finished_one_is_not_retried(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    finished, running = service.trial(sweep_id, 0, 0.5), service.trial(sweep_id, 1, None)
    assert podium.stop_trial(running)["requested"] == "stop"
    added = podium.clone_trial(finished, {"lr": 0.02}, idempotency_key="k")
    assert added["params"] == {"lr": 0.02}
    assert podium.clone_trial(finished, {"lr": 0.02}, idempotency_key="k") == added
    assert podium.clone_trial(finished)["params"] == {"lr": 0.01}
    with pytest.raises(NotPossibleError) as caught:
        podium.retry_trial(finished)
    assert caught.value.possible == ("clone",)
    with pytest.raises(InvalidSpecError, match="did you mean 'lr'"):
        podium.clone_trial(finished, {"lrr": 0.02})


def test_device_is_drained_and_returned(podium: Client, service: ServiceRig) -> None:
    service.device()
    assert podium.drain_device("cpu-0", "it is hot")["reason"] == "it is hot"
    assert podium.devices()[0]["state"] == "drained"
    assert podium.return_device("cpu-0")["state"] == "ready"
    for unknown in ("cpu-1", "a/b"):
        with pytest.raises(NotFoundError):
            podium.drain_device(unknown)


def test_node_is_drained_returned_and_removed(podium: Client, service: ServiceRig) -> None:
    with service.database.write() as connection:
        nodes.record_report(connection, node_report("b"), time.time())
    service.device("b:cpu-0")
    assert podium.drain_node("b", "it is hot")["state"] == "drained"
    assert podium.devices()[0]["reason"] == "it is hot"
    assert podium.return_node("b")["state"] == "ready"
    assert podium.remove_node("b", now=True) == {"name": "b", "forgotten": False}
    assert [node["state"] for node in podium.nodes()] == ["leaving"]
    for unknown in ("c", "a/b"):
        with pytest.raises(NotFoundError):
            podium.remove_node(unknown)


def test_every_page_is_read(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(5):
        service.trial(sweep_id, number, 0.5)
    api, pages = service.client(), []

    def small_page(request: httpx2.Request) -> httpx2.Response:
        answer = api.get(request.url.path, params={**request.url.params, "limit": "2"})
        pages.append(len(answer.json()["items"]))
        return httpx2.Response(answer.status_code, json=answer.json())

    assert [trial["number"] for trial in answering(small_page).trials(sweep_id)] == list(range(5))
    assert pages == [2, 2, 1]
    assert [trial["number"] for trial in podium.trials(sweep_id)] == list(range(5))


def test_code_is_uploaded_before_its_sweep(podium: Client, service: ServiceRig, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("def objective(trial): ...\n")
    program = {"function": "train:objective", "code": str(code)}
    sweep = podium.submit(document(program=program))
    bundle = sweep["spec"]["program"]["bundle"]
    assert (service.data.bundle(bundle) / "train.py").exists()
    assert "code" not in sweep["spec"]["program"]
    assert podium.submit(document(program={"function": "train:objective", "bundle": bundle}))["id"] == 2


def test_sweep_is_submitted_after_others(podium: Client) -> None:
    podium.submit(builtin_document(name="coarse"))
    later = podium.submit(builtin_document(after=["coarse"]), after=1)
    assert [each["id"] for each in later["predecessors"]] == [1]
    last = podium.submit(builtin_document(), after=[1, later["id"]])
    assert [each["id"] for each in last["predecessors"]] == [1, 2]
    assert podium.release_sweep(2)["held"] is False
    assert Sweep.submit(podium, builtin_document(), after=[podium.open_sweep(3)]).data["predecessors"][0]["id"] == 3


def test_invalid_sweep_raises_an_error_with_its_keys(podium: Client) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        podium.submit(builtin_document(methd="tpe"))
    assert [problem.location for problem in caught.value.problems] == [("methd",)]


def test_unknown_id_is_not_found(podium: Client) -> None:
    with pytest.raises(NotFoundError, match="there is no sweep 9"):
        podium.sweep(9)


def test_conflict_has_the_message_of_the_server(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    service.end_sweep(sweep_id)
    with pytest.raises(PodiumError, match="cannot be cancelled"):
        podium.cancel_sweep(sweep_id)


def test_wait_ends_at_its_timeout(podium: Client, service: ServiceRig) -> None:
    podium.poll_s = 0
    with pytest.raises(ServiceError, match="still queued after 0 s"):
        podium.wait(service.sweep(), timeout_s=0)


@pytest.mark.parametrize("state", ["stopped", "retired"])
def test_wait_for_an_ensemble_ends_when_it_fails(state: str) -> None:
    podium = answering(lambda _: httpx2.Response(200, json={"id": 1, "state": state, "reason": "no such file"}))
    with pytest.raises(ServiceError, match=f"ensemble 1 is {state}: no such file"):
        podium.wait_ensemble(1)


def test_wait_for_an_ensemble_ends_when_a_member_cannot_start() -> None:
    members = [{"state": "ready"}, {"state": "failed"}]
    found = {"id": 1, "state": "degraded", "reason": "1 of 2 members", "members": members}
    podium = answering(lambda _: httpx2.Response(200, json=found))
    with pytest.raises(ServiceError, match="ensemble 1 is degraded: 1 of 2 members"):
        podium.wait_ensemble(1)


def test_wait_continues_until_the_ensemble_itself_is_ready() -> None:
    found = {"id": 1, "state": "warming", "reason": "", "members": [{"state": "ready"}, {"state": "ready"}]}
    answers = iter([found, {**found, "state": "ready"}])
    podium = answering(lambda _: httpx2.Response(200, json=next(answers)))
    assert podium.wait_ensemble(1)["state"] == "ready"


def test_ensemble_may_be_given_by_id_or_name(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    ensemble = podium.build_ensemble(trial_ids=[trial_id], name="best of/all")
    assert [found["id"] for found in podium.ensembles()] == [ensemble["id"]]
    for name in (ensemble["id"], str(ensemble["id"]), "best of/all"):
        assert podium.ensemble(name) == podium.ensemble(ensemble["id"])
    with pytest.raises(NotFoundError, match="there is no ensemble 'best'"):
        podium.ensemble("best")


def test_ensemble_is_built_changed_and_retired(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(2):
        service.trial(sweep_id, number, 0.5)
    ensemble = podium.build_ensemble(sweep_id, k=2)
    assert podium.add_version("small-1", sweep_id, k=1, canary_share=0.25)["canary"] == 2
    assert podium.promote("small-1")["target"] == 2
    assert podium.roll_back("small-1")["target"] is None
    assert podium.stop_ensemble("small-1")["state"] == "stopped"
    assert podium.start_ensemble("small-1")["state"] == "building"
    assert podium.retire_ensemble("small-1")["state"] == "retired"
    assert podium.sweep(sweep_id)["ensembles"] == [ensemble["id"]]


def test_evaluation_is_waited_for_and_its_failure_is_an_error() -> None:
    states = iter(["queued", "queued", "finished", "queued", "failed"])
    seen: list[tuple[str, str]] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.method, request.url.path))
        body = {"id": 5, "ensemble_id": 3, "state": next(states), "reason": "no such rows"}
        return httpx2.Response(202, json=body)

    podium = answering(handler)
    assert podium.evaluate(3)["state"] == "finished"
    assert seen == [("POST", "/api/v1/ensembles/3/evaluate")] + [("GET", "/api/v1/ensembles/3/evaluations/5")] * 2
    with pytest.raises(EnsembleError, match="no such rows"):
        podium.evaluate(3)


def test_given_rows_are_sent_as_numbers() -> None:
    seen: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        return httpx2.Response(200, json={"state": "finished"})

    podium = answering(handler)
    podium.evaluate(3, "validation", force=True)
    podium.evaluate(3, version=2, inputs=np.eye(2), targets=["cat", "dog"])
    assert seen == [
        {"split": "validation", "force": True},
        {"version": 2, "inputs": [[1.0, 0.0], [0.0, 1.0]], "targets": ["cat", "dog"]},
    ]


def _unreachable(_: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("connection refused")


ANSWERS: list[tuple[str, Callable[[httpx2.Request], httpx2.Response], type[PodiumError], str]] = [
    ("unreachable", _unreachable, ServiceError, "does not respond"),
    ("no JSON", lambda _: httpx2.Response(502, text="<html>"), ServiceError, "status 502"),
    ("no detail", lambda _: httpx2.Response(503, json={"title": "Busy"}), PodiumError, "Busy"),
    ("nothing", lambda _: httpx2.Response(500, json={}), PodiumError, "status 500"),
]


@pytest.mark.parametrize(("handler", "error", "words"), [a[1:] for a in ANSWERS], ids=[a[0] for a in ANSWERS])
def test_any_failure_is_an_error_of_the_client(
    handler: Callable[[httpx2.Request], httpx2.Response], error: type[PodiumError], words: str
) -> None:
    with pytest.raises(error, match=words):
        answering(handler).devices()


class Restarting:
    """A service that fails a number of times before it answers."""

    def __init__(self, *failures: Exception | httpx2.Response) -> None:
        self._failures = list(failures)
        self.seen: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        if not self._failures:
            return httpx2.Response(200, json={"id": 1})
        failure = self._failures.pop(0)
        if isinstance(failure, Exception):
            raise failure
        return failure


REFUSED = httpx2.ConnectError("connection refused")
CUT = httpx2.RemoteProtocolError("server disconnected")


def test_request_is_repeated_during_a_restart() -> None:
    service = Restarting(REFUSED, CUT, httpx2.Response(503, json={"detail": "too many writers wait"}))
    assert answering(service, retry_s=60).sweep(1)["id"] == 1
    assert len(service.seen) == 4


def test_submission_is_repeated_with_its_key_and_made_once() -> None:
    service = Restarting(CUT, REFUSED)
    podium = answering(service, retry_s=60)
    assert podium.submit(builtin_document())["id"] == 1
    keys = [request.headers["idempotency-key"] for request in service.seen]
    assert len(keys) == 3 and len(set(keys)) == 1
    podium.submit(builtin_document())
    assert service.seen[-1].headers["idempotency-key"] != keys[0]


def test_request_that_may_have_succeeded_is_not_repeated() -> None:
    service = Restarting(REFUSED, CUT)
    with pytest.raises(ServiceError, match="server disconnected"):
        answering(service, retry_s=60).build_ensemble(1)
    assert len(service.seen) == 2, "the first was not sent"


def test_retries_end() -> None:
    service = Restarting(*[REFUSED] * 5)
    with pytest.raises(ServiceError, match="does not respond"):
        answering(service, retry_s=0.01, pause_s=0.05).sweep(1)
    assert len(service.seen) == 1


def test_prediction_sends_its_rows_and_deadline() -> None:
    seen: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.url.path, dict(request.url.params), json.loads(request.content)))
        return httpx2.Response(200, json={"outputs": [[1.0]]})

    answering(handler).predict(3, [[1.0, 2.0]], 50, whole=True)
    assert seen == [
        ("/api/v1/ensembles/3/predict", {"whole": "true"}, {"inputs": [[1.0, 2.0]], "deadline_ms": 50})
    ]  # fmt: skip


def test_array_is_sent_in_binary_form() -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json={"outputs": [[1.0]]})

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    answering(handler).predict(3, array, 50)
    answering(handler).predict(3, array)
    for request, deadline in zip(seen, ({"deadline_ms": "50"}, {}), strict=True):
        assert dict(request.url.params) == {"whole": "false", **deadline}
        assert request.headers["content-type"] == "application/x-npy"
        sent = np.load(io.BytesIO(request.content))
        assert sent.dtype == np.float32 and np.array_equal(sent, array)


def test_service_of_a_folder_is_found_by_its_files(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="podium serve"):
        Client.of(tmp_path)
    (tmp_path / "admin.token").write_text("secret\n")
    (tmp_path / "service.json").write_text("half a fi")
    with pytest.raises(ServiceError, match="no service runs"):
        Client.of(tmp_path)
    (tmp_path / "service.json").write_text('{"url": "http://127.0.0.1:1", "pid": 4194399}')  # the service was killed
    with pytest.raises(ServiceError, match="no service runs"):
        Client.of(tmp_path)
    (tmp_path / "service.json").write_text('{"url": "http://127.0.0.1:1"}')
    (tmp_path / "service.lock").touch()  # it was killed, and another process has its id
    with pytest.raises(ServiceError, match="no service runs"):
        Client.of(tmp_path)
    with _locked(tmp_path), Client.of(tmp_path) as found:
        assert found.url == "http://127.0.0.1:1"
        with pytest.raises(ServiceError, match="does not respond"):
            found.ready()


def test_killed_standby_of_this_machine_is_not_asked(tmp_path: Path) -> None:
    """Each of several services that share a data directory has a folder named after its host."""
    (tmp_path / "admin.token").write_text("secret\n")
    for host in (socket.gethostname(), "beta"):
        folder = tmp_path / "services" / host
        folder.mkdir(parents=True)
        (folder / "service.lock").touch()
        (folder / "service.json").write_text(json.dumps({"url": f"http://{host}:1"}))
    with pytest.raises(
        ServiceError,
        match=r"no service runs on .* on this machine; .*; other machines that have started one on it: beta",
    ):
        Client.of(tmp_path)
    (tmp_path / "service.json").write_text('{"url": "http://127.0.0.1:1"}')
    with _locked(tmp_path), Client.of(tmp_path) as found:
        assert found.url == "http://127.0.0.1:1", "a service that was started without --standby in the meantime"
    with _locked(tmp_path / "services" / socket.gethostname()), Client.of(tmp_path) as found:
        assert found.url == f"http://{socket.gethostname()}:1"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A service runs that has this folder."""
    with (folder / "service.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_service_of_a_folder_receives_its_token(tmp_path: Path) -> None:
    received: list[str | None] = []

    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        (tmp_path / "admin.token").write_text("secret\n")
        (tmp_path / "service.json").write_text(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}))
        with Client.of(tmp_path, retry_s=0) as found:
            assert found.devices() == []
    assert received == ["Bearer secret"]


@pytest.mark.parametrize("inputs", [[[1.0], [2.0, 3.0]], "rows", [["a"]]])
def test_invalid_array_is_not_sent(podium: Client, inputs: Any) -> None:
    with pytest.raises(EnsembleError, match="inputs must be rows of numbers"):
        podium.predict(1, inputs)


def test_history_of_an_ensemble_is_read(podium: Client, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    ensemble_id = service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.5)], "one")
    assert len(podium.traffic("one")["points"]) == 15
    assert [event["kind"] for event in podium.ensemble_events(ensemble_id)] == ["building"]
    assert "200 rows" in podium.drift(ensemble_id)["problem"]
