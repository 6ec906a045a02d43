"""The log of a trial as it grows, over one attempt and the next; cli."""

from __future__ import annotations

import time
from collections.abc import Iterator

from podium.api.client.client import Client
from podium.sweep.values.errors import NotFoundError

POLL_S = 0.5
OVER = ("finished", "pruned", "failed", "cancelled")


def follow_log(client: Client, trial_id: int) -> Iterator[str]:
    """What a trial has printed and prints, until it is over and all is said. Raises `NotFoundError`."""
    attempt, start = 0, 0
    while True:
        trial = client.trial(trial_id)  # looked at first: what is printed before it is over is read after that
        if trial["attempt"] != attempt:
            if attempt:
                yield f"\n[ attempt {trial['attempt']} ]\n"
            attempt, start = trial["attempt"], 0
        text, start = _more(client, trial_id, attempt, start)
        if text:
            yield text
        elif trial["state"] in OVER:
            return
        else:
            time.sleep(POLL_S)


def _more(client: Client, trial_id: int, attempt: int, start: int) -> tuple[str, int]:
    if not attempt:
        return "", start  # it has not begun
    try:
        return client.log_from(trial_id, attempt, start)
    except NotFoundError:
        return "", start  # it has printed nothing yet
