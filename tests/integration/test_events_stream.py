"""The event stream over real sockets: live, resumed, bounded, and closed on shutdown."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from sqlalchemy import text

from podium.api.http.authentication import CACHE_S, Authenticator
from podium.api.http.readiness_reporting_server import ReadyServer
from podium.api.rest.stream.event_polling import LIMITS, StreamLimits
from podium.api.rest.stream.event_routes import feed_of
from podium.db.access.tokens import Role
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.values.states import SweepState
from tests.repository import ROOT
from tests.running_service import wait_for
from tests.service_rig import ServiceRig

EVENTS = "/api/v1/events"


@dataclass(frozen=True)
class Message:
    """A server-sent event as a browser reads it."""

    event: str | None
    id: str | None
    data: Any


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[ServiceRig]:
    opened = ServiceRig(tmp_path)
    yield opened
    opened.close()


@contextmanager
def serving(
    rig: ServiceRig, cache_s: float = CACHE_S, limits: StreamLimits = LIMITS
) -> Iterator[tuple[str, ReadyServer]]:
    """The api on a port of its own, in a thread; ended as on SIGTERM."""
    app = rig.app()
    app.state.feed = feed_of(app.state.service, limits)
    app.state.authenticator = Authenticator(rig.database, rig.settings.session_cookie, cache_s=cache_s)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=10)
    server = ReadyServer(config, app.state.feed.close)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        wait_for("it listens", lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", server
        finally:
            server.should_exit = True
            thread.join(20)
    assert not thread.is_alive()


@contextmanager
def following(url: str, token: str = "token-of-viewer", last: str | None = None, **query: int) -> Iterator[Any]:
    """The messages of a stream in order, without pings."""
    headers = {"Authorization": f"Bearer {token}"} | ({} if last is None else {"Last-Event-ID": last})
    with httpx2.Client(base_url=url, headers=headers, timeout=30) as client:  # noqa: SIM117
        with client.stream("GET", EVENTS, params=query) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield messages(response.iter_lines())


def messages(lines: Iterator[str]) -> Iterator[Message]:
    found: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            found[name] = value
        elif found.keys() - {""}:
            data = json.loads(found["data"]) if "data" in found else None
            yield Message(found.get("event"), found.get("id"), data)
            found = {}
        else:
            found = {}


def ended(stream: Iterator[Message]) -> bool:
    """Whether the stream has ended."""
    return next(stream, None) is None


def test_stream_delivers_events_and_resumes_after_last_event(rig: ServiceRig) -> None:
    with serving(rig) as (url, _):
        with following(url) as stream:
            assert next(stream) == Message("hello", "0", {})
            sweep_id = rig.sweep()
            first = next(stream)
        assert (first.event, first.data["sweeps"], first.id) == ("changes", [sweep_id], "1")
        rig.end_sweep(sweep_id, SweepState.FINISHED)
        with following(url, last=first.id) as stream:
            assert next(stream).event == "hello"
            missed = next(stream)
        assert (missed.data["kinds"], missed.id) == (["sweep.finished", "sweep.running"], "3")
        with following(url, after=3) as stream:
            assert next(stream) == Message("hello", "3", {})
            rig.sweep()
            assert next(stream).data["kinds"] == ["sweep.queued"]


def test_new_stream_includes_changes_just_before_it_opened(rig: ServiceRig) -> None:
    rig.sweep()
    now = time.time()
    with rig.database.write() as connection:
        event_outbox.add(connection, [NewEvent(now, "sweep.paused", 1), NewEvent(now, "sweep.running", 1)])
    with serving(rig) as (url, _), following(url) as stream:
        assert next(stream) == Message("hello", "3", {})
        assert next(stream).data["kinds"] == ["sweep.paused", "sweep.running"]


@pytest.mark.parametrize("after", [5, 99_999])
def test_stream_resets_when_events_were_missed_or_database_differs(rig: ServiceRig, after: int) -> None:
    for _ in range(12):
        rig.sweep()
    limits = StreamLimits(behind_events=3)
    with serving(rig, limits=limits) as (url, _), following(url, after=after) as stream:
        assert [next(stream).event, next(stream).event] == ["hello", "reset"]
        rig.sweep()
        assert next(stream).event == "changes"


def test_stream_sends_points_and_log_of_focused_trial(rig: ServiceRig) -> None:
    sweep_id = rig.sweep()
    trial_id = rig.trial(sweep_id, 0, None, model=False, log="epoch 1\n")
    other = rig.trial(sweep_id, 1, None, model=False)
    with serving(rig) as (url, _), following(url, trial=trial_id) as stream, following(url, sweep=sweep_id) as both:
        assert next(stream).event == "hello"
        assert next(stream) == Message("log", None, {"trial_id": trial_id, "attempt": 1, "size_bytes": 8})
        rig.points(trial_id, "loss", 0.5, 0.25)
        assert next(stream) == Message("metrics", None, {"points": {str(trial_id): {"loss": [1, 0.25]}}})
        rig.points(other, "loss", 0.75)
        seen: dict[str, Any] = {}
        while seen.keys() != {str(trial_id), str(other)}:
            message = next(both)
            seen |= message.data["points"] if message.event == "metrics" else {}
        with rig.attempt(sweep_id, 0).log.open("a") as log:
            log.write("epoch 2\n")
        assert next(stream).data["size_bytes"] == 16


def test_stream_sends_members_of_focused_ensemble(rig: ServiceRig) -> None:
    sweep_id = rig.sweep()
    ensemble_id = rig.ensemble(sweep_id, [rig.trial(sweep_id, 0, 0.5)])
    with serving(rig) as (url, _), following(url, ensemble=ensemble_id) as stream:
        assert next(stream).event == "hello"
        health = next(stream)
        assert (health.event, health.data["ensemble_id"]) == ("health", ensemble_id)
        assert [member["state"] for member in health.data["members"]] == ["starting"]
        rig.ready(ensemble_id, ["unix:nowhere"])
        later = [next(stream), next(stream)]
        assert {message.event for message in later} == {"changes", "health"}
    with serving(rig) as (url, _), following(url, ensemble=99) as stream:
        assert next(stream).event == "hello"
        rig.sweep()
        assert next(stream).event == "changes"


def test_stream_over_limit_is_503_until_another_closes(rig: ServiceRig) -> None:
    with serving(rig, limits=StreamLimits(streams=1)) as (url, server):
        feed = server.config.app.state.feed  # type: ignore[union-attr]
        with following(url) as stream:
            next(stream)
            refused = httpx2.get(url + EVENTS, headers={"Authorization": "Bearer token-of-viewer"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert "event-stream limit reached (1)" in refused.json()["detail"]
        wait_for("the page has left", lambda: feed.streams == 0)
        assert not feed.polls
        with following(url) as stream:
            assert next(stream).id == "0"


def test_one_token_cannot_use_all_streams(rig: ServiceRig) -> None:
    limits = StreamLimits(streams_per_token=2)
    with serving(rig, limits=limits) as (url, _), following(url) as first, following(url) as second:
        assert [next(stream).event for stream in (first, second)] == ["hello", "hello"]
        refused = httpx2.get(url + EVENTS, headers={"Authorization": "Bearer token-of-viewer"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "event-stream limit of this token reached (2)" in refused.json()["detail"]
        with following(url, "token-of-submitter") as other:
            assert next(other).event == "hello"


def test_stream_ends_within_seconds_of_token_expiry(rig: ServiceRig) -> None:
    """With real times: a token is valid until it expires, and the next check ends its streams."""
    with rig.database.write() as connection:
        connection.execute(text("UPDATE tokens SET expires_at = :at WHERE role = 'viewer'"), {"at": time.time() + 3})
    with serving(rig) as (url, _), following(url) as stream:
        next(stream)
        begun = time.monotonic()
        assert ended(stream)
        assert time.monotonic() - begun < 7


def test_stream_ends_when_token_is_revoked(rig: ServiceRig) -> None:
    with serving(rig, cache_s=0.0, limits=StreamLimits(recheck_s=0.1)) as (url, _), following(url) as stream:
        next(stream)
        rig.sweep()
        assert next(stream).event == "changes"
        with rig.database.write() as connection:
            connection.exec_driver_sql("UPDATE tokens SET revoked_at = 1 WHERE role = 'viewer'")
        assert ended(stream)


def test_stream_continues_when_database_is_temporarily_unavailable(
    rig: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium.sweep.values.errors import DatabaseError

    looked = threading.Event()

    def away(*_: object) -> None:
        looked.set()
        raise DatabaseError("locked")

    with serving(rig) as (url, _), following(url) as stream:
        next(stream)
        with monkeypatch.context() as patch:
            patch.setattr("podium.db.stores.event_outbox.summaries", away)
            assert looked.wait(10)
        rig.sweep()
        assert next(stream).event == "changes"


def test_stream_requires_token_and_valid_parameters(rig: ServiceRig) -> None:
    with serving(rig) as (url, _):
        assert httpx2.get(url + EVENTS).status_code == 401
        bad = httpx2.get(url + EVENTS, params={"sweep": 0}, headers={"Authorization": "Bearer token-of-viewer"})
        assert bad.status_code == 422


@pytest.mark.sqlite
def test_streams_end_on_sigterm(rig: ServiceRig) -> None:
    """In a real process: if streams did not end, shutdown would wait for the pages and then disconnect them."""
    rig.data.admin_token.write_text("token-of-admin-2")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = str(replace(rig.settings, port=port).save())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "podium.api.rest.main", settings], env=environment, stderr=subprocess.PIPE
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for("it listens", lambda: _answers(url), 60.0)
        with following(url, f"token-of-{Role.VIEWER.value}") as stream:
            next(stream)
            process.send_signal(signal.SIGTERM)
            assert ended(stream)
        _, said = process.communicate(timeout=10)
        assert b"graceful shutdown exceeded" not in said
        assert process.returncode in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url + "/healthz").status_code == 200
    except httpx2.TransportError:
        return False
