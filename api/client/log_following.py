"""Follows the log of a trial over all of its attempts; CLI."""

from __future__ import annotations

import time
from collections.abc import Iterator

from podium.api.client.client import Client
from podium.sweep.values.errors import NotFoundError

POLL_S = 0.5
TERMINAL = ("finished", "pruned", "failed", "cancelled")


def follow_log(client: Client, trial_id: int, poll_s: float = POLL_S, rank: int = 0) -> Iterator[str]:
    """The output of a trial, or of one of its ranks, as it is written, until the trial ends. Raises `NotFoundError`.

    `poll_s`: seconds between two requests while there is no new output.
    """
    attempt, start = 0, 0
    while True:
        trial = client.trial(trial_id)  # read before the log: all output of an ended trial is then read
        if trial["attempt"] != attempt:
            if attempt:
                yield f"\n[ attempt {trial['attempt']} ]\n"
            attempt, start = trial["attempt"], 0
        text, start = _read_from(client, trial_id, attempt=attempt, start=start, rank=rank)
        if text:
            yield text
        elif trial["state"] in TERMINAL:
            return
        else:
            time.sleep(poll_s)


def _read_from(client: Client, trial_id: int, attempt: int, start: int, rank: int) -> tuple[str, int]:
    if not attempt:
        return "", start  # not started
    try:
        return client.log_from(trial_id, attempt, start, rank)
    except NotFoundError:
        return "", start  # no output yet
