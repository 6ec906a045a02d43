"""Pending messages of an event stream: merged while the client waits, sent once, and their content."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.api.rest.stream.pending_events import MAX_TRIALS, LogView, Subscription, Watch
from podium.db.queries import attempt_reader
from podium.db.stores import ensemble_evaluations, event_outbox, metric_summaries
from podium.db.stores.event_outbox import EventSummary, NewEvent
from tests.service_rig import AT, ServiceRig, nonce


def started(position: int = 7, **watch: int) -> Subscription:
    """A subscription whose greeting has been sent."""
    subscription = Subscription(Watch(**watch))
    subscription.begin(position)
    (greeting,) = subscription.take()
    assert (greeting.event, greeting.id, greeting.retry) == ("hello", str(position), 1000)
    return subscription


def messages(subscription: Subscription) -> list[tuple[str | None, Any, str | None]]:
    """Name, data and id of each message, the data as received by a browser."""
    found = []
    for message in subscription.take():
        data = message.data.model_dump(mode="json") if hasattr(message.data, "model_dump") else message.data
        found.append((message.event, json.loads(json.dumps(data)), message.id))
    return found


def test_events_are_merged_into_one_message_with_the_last_id() -> None:
    subscription = started()
    subscription.add_events(
        [EventSummary(8, "trial.running", 1, 4, None), EventSummary(9, "trial.finished", 1, 4, None)], 9
    )
    subscription.add_events(
        [EventSummary(10, "ensemble.ready", None, None, 3), EventSummary(11, "evaluation.finished", None, None, 5)], 11
    )
    subscription.add_events(
        [EventSummary(12, "sweep.queued", 2, None, None), EventSummary(13, "trial.noted", 1, 6, None)], 13
    )
    changes = {
        "sweeps": [1, 2],
        "trials": {"1": [4, 6]},
        "devices": True,
        "ensembles": [3],
        "evaluations": [5],
        "kinds": [
            "ensemble.ready", "evaluation.finished", "sweep.queued", "trial.finished", "trial.noted", "trial.running",
        ],
    }  # fmt: skip
    assert messages(subscription) == [("changes", changes, "13")]
    assert messages(subscription) == []


@pytest.mark.parametrize(
    ("kind", "devices"),
    [
        ("trial.noted", False),
        ("trial.requested", False),
        ("trial.pruned", True),
        ("device.lost", True),
        ("node.left", True),
    ],
)
def test_changes_include_devices_when_their_activity_changes(kind: str, devices: bool) -> None:
    subscription = started()
    subscription.add_events([EventSummary(8, kind, 1, 1, None)], 8)
    ((_, changes, _),) = messages(subscription)
    assert changes["devices"] is devices


def test_changes_of_too_many_trials_are_a_reset() -> None:
    subscription = started()
    subscription.add_events(
        [EventSummary(n, "trial.finished", 1, n, None) for n in range(8, 9 + MAX_TRIALS)], 8 + MAX_TRIALS
    )
    assert messages(subscription) == [("reset", {}, str(8 + MAX_TRIALS))]
    assert messages(subscription) == []


def test_client_that_is_too_far_behind_gets_a_reset() -> None:
    subscription = Subscription(Watch())
    subscription.begin(40, reset=True)
    assert [message.event for message in subscription.take()] == ["hello", "reset"]


def test_nothing_is_sent_before_the_start_position_is_known() -> None:
    subscription = Subscription(Watch())
    subscription.add_events([EventSummary(8, "sweep.queued", 1, None, None)], 8)
    assert subscription.take() == []
    subscription.begin(8)
    assert [message.event for message in subscription.take()] == ["hello", "changes"]


def test_last_point_of_each_metric_is_sent_once() -> None:
    subscription = started()
    subscription.add_points({4: {"loss": (0, 0.5)}})
    subscription.add_points({4: {"loss": (1, 0.25), "acc": (1, 0.5)}, 5: {"loss": (0, 1.0)}})
    points = {"4": {"loss": [1, 0.25], "acc": [1, 0.5]}, "5": {"loss": [0, 1.0]}}
    assert messages(subscription) == [("metrics", {"points": points}, None)]
    subscription.add_points({4: {"loss": (1, 0.25), "acc": (1, 0.5)}})
    assert messages(subscription) == []
    subscription.add_points({4: {"loss": (2, 0.125), "acc": (1, 0.5)}})
    assert messages(subscription) == [("metrics", {"points": {"4": {"loss": [2, 0.125]}}}, None)]


def test_log_and_health_are_sent_when_they_change() -> None:
    subscription = started(trial_id=4, ensemble_id=1)
    for size in (10, 10, 20):
        subscription.add_log(LogView(trial_id=4, attempt=1, size_bytes=size))
    subscription.add_log(None)
    subscription.add_health({"ensemble_id": 1, "members": []})
    subscription.add_health({"ensemble_id": 1, "members": []})
    assert messages(subscription) == [
        ("log", {"trial_id": 4, "attempt": 1, "size_bytes": 20}, None),
        ("health", {"ensemble_id": 1, "members": []}, None),
    ]
    subscription.add_log(LogView(trial_id=4, attempt=1, size_bytes=20))
    subscription.add_health({"ensemble_id": 1, "members": []})
    assert messages(subscription) == []


# The database.


def test_last_points_of_each_metric_of_given_trials(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    one, two, silent = (service.trial(sweep_id, number, None) for number in range(3))
    service.points(one, "loss", 3.0, 2.0, 1.0)
    service.points(one, "acc", 0.5)
    service.points(two, "loss", 9.0)
    with service.database.read() as connection:
        assert metric_summaries.latest(connection, [one, silent]) == {one: {"loss": (2, 1.0), "acc": (0, 0.5)}}
        assert metric_summaries.latest(connection, []) == {}
        assert len(metric_summaries.latest(connection, [one, two], limit=2)) == 2
        assert attempt_reader.running(connection, sweep_id, 2) == [silent, two]
        (row,) = attempt_reader.current_attempts(connection, [two, 99])
    assert row == (two, sweep_id, 1, 1, "running", nonce(1))


def test_news_have_the_ids_of_their_events(service: ServiceRig) -> None:
    with service.database.write() as connection:
        assert event_outbox.id_range(connection) == (0, 0)
        event_outbox.add(connection, [NewEvent(AT, "sweep.queued", 3), NewEvent(AT, "trial.running", 3, 4)])
        assert event_outbox.summaries(connection, 1, 10) == [EventSummary(2, "trial.running", 3, 4, None)]
        assert event_outbox.id_range(connection) == (1, 2)
        event_outbox.add(connection, [NewEvent(AT + 9, "sweep.queued", 4)])
        assert [event_outbox.before(connection, AT + after) for after in (0, 1, 9, 10)] == [0, 2, 2, 3]


def test_evaluation_has_an_event_for_each_of_its_states(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    ensemble_id = service.ensemble(sweep_id, [service.trial(sweep_id, 0, 0.5)])
    evaluation_id = service.evaluation(ensemble_id)
    with service.database.write() as connection:
        ensemble_evaluations.begin(connection, evaluation_id, AT)
    service.finish_evaluation(evaluation_id, None, "no rows")
    with service.database.read() as connection:
        messages = [event for event in event_outbox.after(connection, 0) if event["kind"].startswith("evaluation.")]
    assert [event["kind"] for event in messages] == ["evaluation.queued", "evaluation.running", "evaluation.failed"]
    assert {(event["ensemble_id"], event["payload"]["evaluation"]) for event in messages} == {
        (ensemble_id, evaluation_id)
    }
