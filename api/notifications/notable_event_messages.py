"""Which events are worth a notification, and its text; notifier.

Names and reasons come from users: they are written as plain text in one line each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from podium.api.notifications.notification_target_file import NotificationKind
from podium.db.schema.tables import ensembles, events, sweeps
from podium.db.stores import notification_outbox
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState
from podium.sweep.values.sweep_wait_reason import WaitReason

MAX_TEXT = 500  # characters of a name or a reason
_OF_SWEEPS = {
    "sweep.finished": (NotificationKind.FINISHED, "finished"),
    "sweep.failed": (NotificationKind.FAILED, "failed"),
    "sweep.ensemble_failed": (NotificationKind.FAILED, "could not build its ensemble"),
}
_OF_ENSEMBLES = {
    "ensemble.degraded": (NotificationKind.DEGRADED, "is degraded"),
    "ensemble.below_quorum": (NotificationKind.DEGRADED, "is below its quorum: it answers no requests"),
}
# The service can do nothing about these; another sweep that is served first is no stall.
STALLED_BY = (
    WaitReason.DISK_FULL,
    WaitReason.NO_DEVICE,
    WaitReason.NO_MATCHING_DEVICE,
    WaitReason.DEVICES_CLOSED,
    WaitReason.PREDECESSOR_FAILED,
    WaitReason.FIX_FROM,
)
Message = tuple[int, NotificationKind, str, str]  # id of the event, kind, title, body


def messages_of(connection: Connection, found: list[dict[str, Any]], url: str) -> Iterator[Message]:
    """The messages about these events. `url`: of the service."""
    for event in found:
        if event["kind"] in _OF_SWEEPS:
            kind, what = _OF_SWEEPS[event["kind"]]
            message = _about_sweep(
                connection,
                event["id"],
                sweep_id=event["sweep_id"],
                kind=kind,
                what=what,
                payload=event["payload"],
                url=url,
            )
        elif event["kind"] in _OF_ENSEMBLES:
            message = _about_ensemble(connection, event, url)
        else:
            message = _about_stalled_trial(connection, event, url)
        if message is not None:
            yield message


def _about_ensemble(connection: Connection, event: Mapping[str, Any], url: str) -> Message:
    kind, what = _OF_ENSEMBLES[event["kind"]]
    named = select(ensembles.c.name).where(ensembles.c.id == event["ensemble_id"])
    title = f"Podium: ensemble {line(connection.execute(named).scalar_one_or_none())} {what}"
    return event["id"], kind, title, _body(event["payload"], f"{url}/ensembles/{event['ensemble_id']}")


def _about_stalled_trial(connection: Connection, event: Mapping[str, Any], url: str) -> Message | None:
    """The message about the first trial of a sweep that made no progress."""
    if event["kind"] != "trial.failed" or event["payload"].get("cause") != Cause.STALLED:
        return None
    if _has_stalled_before(connection, event):
        return None
    what = f"has a trial without progress: trial {event['payload'].get('number')}"
    return _about_sweep(
        connection,
        event["id"],
        sweep_id=event["sweep_id"],
        kind=NotificationKind.STALLED,
        what=what,
        payload={},
        url=url,
    )


def waiting_sweeps(connection: Connection) -> dict[int, str]:
    """The sweeps of which no trial can run until somebody acts, with the reasons."""
    states = (SweepState.QUEUED.value, SweepState.RUNNING.value, SweepState.STOPPING.value)
    reasons = [reason.value for reason in STALLED_BY]
    where = sweeps.c.state.in_(states) & sweeps.c.wait_reason.in_(reasons)
    rows = connection.execute(select(sweeps.c.id, sweeps.c.wait_message).where(where))
    return {row.id: row.wait_message for row in rows}


def about_waiting_sweep(connection: Connection, sweep_id: int, reason: str, url: str) -> Message | None:
    """The message about a sweep that has waited for long; None if there was one since a trial of it started."""
    event_id = notification_outbox.last_start(connection, sweep_id)
    kind = NotificationKind.STALLED
    if event_id == 0 or notification_outbox.is_known(connection, event_id, kind):
        return None
    return _about_sweep(
        connection, event_id, sweep_id=sweep_id, kind=kind, what="is stalled", payload={"reason": reason}, url=url
    )


def line(text: object) -> str:
    """A text of users as one line of printable characters."""
    shown = "".join(character if character.isprintable() else " " for character in str(text))
    return shown if len(shown) <= MAX_TEXT else f"{shown[: MAX_TEXT - 1]}…"


def _about_sweep(
    connection: Connection,
    event_id: int,
    sweep_id: int,
    kind: NotificationKind,
    what: str,
    payload: Mapping[str, Any],
    url: str,
) -> Message | None:
    row = connection.execute(select(sweeps.c.name, sweeps.c.spec).where(sweeps.c.id == sweep_id)).one_or_none()
    if row is None or "imported" in (json.loads(row.spec).get("program") or {}):
        return None  # an imported sweep ran elsewhere
    return event_id, kind, f"Podium: sweep {line(row.name)} {what}", _body(payload, f"{url}/sweeps/{sweep_id}")


def _body(payload: Mapping[str, Any], link: str) -> str:
    reason = payload.get("reason")
    return f"{line(reason)}\n{link}" if reason else link


def _has_stalled_before(connection: Connection, event: Mapping[str, Any]) -> bool:
    """Whether an earlier trial of the sweep had no progress: only the first one is worth a notification."""
    earlier = (
        select(events.c.id)
        .where(
            events.c.sweep_id == event["sweep_id"],
            events.c.kind == "trial.failed",
            events.c.id < event["id"],
            events.c.payload.contains(f'"cause": "{Cause.STALLED}"'),
        )
        .limit(1)
    )
    return connection.execute(earlier).first() is not None
