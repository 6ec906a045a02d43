"""Thousands of finished trials in a running sweep, so that recovery has state to rebuild."""

from __future__ import annotations

from benchmarks.start import fill
from podium.api.client.client import Client
from tests.faults.journal import Journal
from tests.faults.service_under_fire import FaultedService
from tests.faults.workload import CODE, OVER
from tests.running_service import function_sweep, wait_for

EXTRA_TRIALS = 100_000  # trials that the sweep would still run


class History:
    """A sweep with `trials` finished trials, inserted while the service is stopped; nothing for 0."""

    def __init__(self, service: FaultedService, trials: int, journal: Journal) -> None:
        self._service = service
        self._sweep_id: int | None = None
        if trials:
            self._sweep_id = self._submit(journal)
            service.stop()
            fill(service.data.root, self._sweep_id, trials)
            service.restart()
            self._record(journal)

    def close(self) -> None:
        """End the sweep."""
        if self._sweep_id is None:
            return
        with Client(self._service.url, self._service.token) as client:
            client.cancel_sweep(self._sweep_id)
            wait_for("the history's sweep has ended", lambda: client.sweep(self._sweep_id or 0)["state"] in OVER)
            wait_for("its last trials are over", lambda: not client.sweep(self._sweep_id or 0)["counts"].get("running"))

    def _submit(self, journal: Journal) -> int:
        parameters = {"seconds": {"value": 3600.0}, **{name: {"min": -1.0, "max": 1.0} for name in "xyz"}}
        document = function_sweep(
            CODE, "short:nap", name="history", method="tpe", parameters=parameters, run_cap=EXTRA_TRIALS
        )
        with Client(self._service.url, self._service.token) as client:
            sweep_id: int = client.submit(document)["id"]
            client.pause_sweep(sweep_id)
        journal.record_acknowledged(sweep_id, "history")
        return sweep_id

    def _record(self, journal: Journal) -> None:
        assert self._sweep_id is not None
        with Client(self._service.url, self._service.token) as client:
            for trial in client.trials(self._sweep_id):
                if trial["state"] == "finished":
                    journal.record_finished_trial(trial["id"], self._sweep_id, trial["number"], trial["value"])
