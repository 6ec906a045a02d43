"""A client that keeps the service busy with sweeps of short trials and records the responses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podium.api.client.client import Client
from podium.sweep.values.errors import PodiumError
from tests.faults.journal import Journal
from tests.running_service import function_sweep

CODE = Path(__file__).parent / "user_code"
OVER = ("finished", "failed", "cancelled")
OPEN_SWEEPS = 3
POLL_S = 0.2
TIMEOUT_S = 5.0
ASHA = {"type": "asha", "min_iter": 1, "eta": 2}
KINDS: tuple[dict[str, Any], ...] = (
    {"function": "short:nap", "method": "random"},
    {"function": "short:reports", "method": "tpe", "early_terminate": ASHA},
    {"function": "short:saves", "method": "random"},
    {"function": "short:litters", "method": "tpe"},
)


def sweep_of(number: int, trials: int, seed: int) -> dict[str, Any]:
    """The sweep with this number: trials of 0.1 to 0.5 s, repeated as often as they are killed."""
    kind = dict(KINDS[number % len(KINDS)])
    return function_sweep(
        CODE,
        kind.pop("function"),
        name=f"sweep-{number}",
        seed=seed + number,
        parameters={"x": {"min": 0.0, "max": 1.0}, "seconds": {"min": 0.1, "max": 0.5}},
        run_cap=trials,
        retries={"infrastructure": 100, "user": 100, "max_consecutive_failures": 1000},
        **kind,
    )


class Workload(threading.Thread):
    """See the module. Requests without a response are repeated with the same key."""

    def __init__(
        self,
        url: str,
        token: str,
        journal: Journal,
        *,
        trials: int,
        seed: int,
        document: Callable[[int, int, int], dict[str, Any]] = sweep_of,
        first: int = 0,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        """`document` returns the sweep with a number, from `first` on; `prepare` is called first in the thread."""
        super().__init__(name="workload", daemon=True)
        self._client = Client(url, token, TIMEOUT_S, retry_s=0)
        self._journal = journal
        self._trials = trials
        self._seed = seed
        self._document = document
        self._prepare = prepare
        self.next = first  # the number of the next sweep
        self._open: set[int] = set()
        self._enough = threading.Event()
        self.unanswered = 0

    def finish(self, timeout_s: float) -> bool:
        """Stop submitting and wait until all sweeps have ended; whether they did in time."""
        self._enough.set()
        self.join(timeout_s)
        return not self.is_alive()

    def abort(self) -> None:
        """Stop sending requests: the service is gone."""
        self._enough.set()
        self._open.clear()
        self.join(2 * TIMEOUT_S)

    def run(self) -> None:
        self._prepare()
        while not self._enough.is_set() or self._open:
            try:
                self._step()
            except PodiumError:
                self.unanswered += 1
            time.sleep(POLL_S)
        self._client.close()

    def _step(self) -> None:
        self._return_devices()
        while len(self._open) < OPEN_SWEEPS and not self._enough.is_set():
            self._submit()
        for sweep_id in sorted(self._open):
            self._poll_sweep(sweep_id)

    def _submit(self) -> None:
        document = self._document(self.next, self._trials, self._seed)
        answer = self._client.submit(document, idempotency_key=document["name"])
        self._journal.record_acknowledged(answer["id"], answer["name"])
        self._open.add(answer["id"])
        self.next += 1

    def _poll_sweep(self, sweep_id: int) -> None:
        state = self._client.sweep(sweep_id)["state"]
        for trial in self._client.trials(sweep_id):
            if trial["state"] == "finished":
                self._journal.record_finished_trial(trial["id"], sweep_id, trial["number"], trial["value"])
        if state in OVER:
            self._journal.record_ended_sweep(sweep_id, state)
            self._open.discard(sweep_id)

    def _return_devices(self) -> None:
        """Return devices that were drained because their slots were killed three times in a row."""
        for device in self._client.devices():
            if device["state"] == "drained":
                self._client.return_device(device["id"])
