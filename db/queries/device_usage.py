"""What the attempts on each device used in an interval of time, by bucket; api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from podium.db.schema.dialect import DialectText


@dataclass(frozen=True, slots=True)
class UsageBucket:
    """The usage of a device in one bucket that has samples."""

    since: float  # the start of its first sample
    at: float  # the end of its last sample
    cpu_cores: float
    memory_bytes: int  # the highest one
    gpu_percent: float | None
    gpu_memory_bytes: int | None


# By the index of attempts on each device, from the one that had started before the interval; then by the primary key of
# the samples. Rank 0 of an attempt is on its own device, the others are in `attempt_ranks`.
_HELD = """
    SELECT a.device_id, a.trial_id, a.number, 0 AS rank FROM {strings}(:devices) d JOIN attempts a
      ON a.device_id = d.value AND a.started_at < :until AND a.started_at >= coalesce(
        (SELECT max(started_at) FROM attempts WHERE device_id = d.value AND started_at <= :since), :since)
    UNION ALL
    SELECT r.device_id, r.trial_id, r.number, r.rank FROM {strings}(:devices) d JOIN attempt_ranks r
      ON r.device_id = d.value AND r.rank > 0 AND r.started_at < :until AND r.started_at >= coalesce(
        (SELECT max(started_at) FROM attempt_ranks WHERE device_id = d.value AND rank > 0 AND started_at <= :since),
        :since)
"""
_BY_BUCKET = f"""
    SELECT h.device_id, min(u.at - u.span_s) AS since, max(u.at) AS at,
      sum(u.cpu_cores * u.span_s) / sum(u.span_s) AS cpu_cores,
      max(u.memory_bytes) AS memory_bytes,
      sum(u.gpu_percent * u.span_s) / sum(CASE WHEN u.gpu_percent IS NOT NULL THEN u.span_s END) AS gpu_percent,
      max(u.gpu_memory_bytes) AS gpu_memory_bytes
    FROM ({_HELD}) h JOIN attempt_usage u ON u.trial_id = h.trial_id AND u.number = h.number AND u.rank = h.rank
    WHERE u.at >= :since AND u.at < :until AND u.span_s > 0
    GROUP BY h.device_id, {{bucket}} ORDER BY h.device_id, at
"""  # noqa: S608 - constants
_BUCKETS = DialectText(
    sqlite=text(_BY_BUCKET.format(strings="json_each", bucket="CAST((u.at - :since) / :width AS INTEGER)")),
    postgres=text(_BY_BUCKET.format(strings="json_strings", bucket="trunc((u.at - :since) / :width)")),
)


def of_devices(
    connection: Connection, device_ids: Sequence[str], since: float, until: float, buckets: int
) -> dict[str, list[UsageBucket]]:
    """The usage by device, oldest first; at most `buckets` entries for each. Times are seconds since the epoch."""
    values = {
        "devices": json.dumps(list(device_ids)), "since": since, "until": until, "width": (until - since) / buckets
    }  # fmt: skip
    found: dict[str, list[UsageBucket]] = {}
    for device_id, *columns in connection.execute(_BUCKETS.on(connection), values):
        found.setdefault(device_id, []).append(UsageBucket(*columns))
    return found
