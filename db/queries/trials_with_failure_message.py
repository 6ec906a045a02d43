"""The trials whose current attempt ended with a message, whatever the numbers, paths and addresses in it are; api."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlalchemy import Connection, func, select

from podium.db.queries.attempt_reader import MAX_ERROR
from podium.db.schema.tables import attempts, trials
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.sweep.values.failure_message_normalization import normalized


def trials_with_message(connection: Connection, sweep_id: int, patterns: Collection[re.Pattern[str]]) -> list[int]:
    """The trials of a sweep whose normalized message matches one of these patterns completely."""
    message = func.substr(attempts.c.message, 1, MAX_ERROR)
    rows = connection.execute(
        select(trials.c.id, func.coalesce(message, "").label("message"))
        .join(attempts, CURRENT_ATTEMPT)
        .where(trials.c.sweep_id == sweep_id, attempts.c.cause.is_not(None))
    ).all()
    comparable = {text: normalized(text) for text in {row.message for row in rows}}
    matching = {text for text, line in comparable.items() if any(pattern.fullmatch(line) for pattern in patterns)}
    return [row.id for row in rows if row.message in matching]
