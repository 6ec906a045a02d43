"""The content of the screenshots: a service with finished sweeps, a running one, and an ensemble under load."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any, Self

import numpy as np

from podium.api.client.client import Client
from podium.api.client.sweep_responses import SweepInfo
from podium.sweep.values.errors import PodiumError
from tests.repository import ROOT
from tests.running_service import RunningService, wait_for

PROGRAMS = Path(__file__).parent / "programs"
SPLIT = {"split": [0.5, 0.2, 0.1, 0.2], "seed": 0}
DIGITS: dict[str, Any] = {
    "name": "digits-mlp",
    "method": "tpe",
    "seed": 7,
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {
        "lr": {"min": 3e-4, "max": 3e-2, "log": True},
        "hidden": {"values": [64, 128, 256]},
        "layers": {"min": 1, "max": 3},
        "dropout": {"min": 0.0, "max": 0.4},
        "batch_size": {"values": [32, 64, 128]},
        "optimizer": {"values": ["adam", "sgd"]},
        "momentum": {"min": 0.0, "max": 0.95, "when": {"optimizer": "sgd"}},
        "epochs": {"value": 15},
    },
    "early_terminate": {"type": "asha", "min_iter": 5, "eta": 2},
    "run_cap": 60,
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "validation": SPLIT,
    "ensemble": {"k": 5, "select": "greedy", "deadline_ms": 200},
}
WATCHED: dict[str, Any] = {
    "name": "wide-or-narrow",
    "method": "tpe",
    "metric": {"name": "accuracy", "goal": "maximize"},
    "parameters": {
        "lr": {"min": 1e-4, "max": 3e-2, "log": True},
        "width": {"min": 8, "max": 256},
        "dropout": {"min": 0.0, "max": 0.5},
    },
    "early_terminate": {"type": "median", "min_iter": 10},
    "run_cap": 200,
    "program": {"function": "uncertain:objective", "code": str(PROGRAMS), "data": {"name": "digits"}},
    "validation": SPLIT,
}


class Scene:
    """The service and its content; the ensemble receives twenty requests per second while the scene lasts."""

    def __init__(self, folder: Path) -> None:
        self.service = RunningService(folder / "data")
        self._over = threading.Event()
        self._asking = threading.Thread(target=self._ask, daemon=True)

    @property
    def client(self) -> Client:
        return self.service.client

    def play(self) -> None:
        """Run everything: two minutes on two cores."""
        self.digits = self._ended(self.client.submit(DIGITS))
        self.ensemble = self._ensemble()
        self.client.evaluate(self.ensemble)
        self.front = self._ended(self.client.submit_file(ROOT / "examples" / "several_objectives" / "sweep.yaml"))
        self.watched = int(self.client.submit(WATCHED)["id"])
        self._asking.start()
        wait_for("the watched sweep has gone some way", self._is_under_way, 120)
        self.best = int(self.client.best(self.digits)[0]["trial_id"])
        self.failed = next((t["id"] for t in self.client.trials(self.watched, state="failed")), None)

    @property
    def running(self) -> int:
        """A trial that runs now."""
        return self._trial(self.watched, "running")

    def _is_under_way(self) -> bool:
        return bool(sum(self.client.sweep(self.watched)["counts"].values()) > 10)

    def _ended(self, sweep: SweepInfo) -> int:
        ended = self.client.wait(int(sweep["id"]), 300)
        assert ended["state"] == "finished", ended
        return int(ended["id"])

    def _ensemble(self) -> int:
        built = wait_for("the sweep's ensemble", lambda: list(self.client.ensembles()))
        return int(self.client.wait_ensemble(built[0]["id"])["id"])

    def _trial(self, sweep: int, state: str) -> int:
        found = wait_for(f"a trial is {state}", lambda: list(self.client.trials(sweep, state=state)))
        return int(found[0]["id"])

    def _ask(self) -> None:
        rows = np.random.default_rng(1).integers(0, 17, (4, 64)).astype(np.float32)
        with Client.of(self.service.data.root) as client:
            while not self._over.wait(0.05):
                with contextlib.suppress(PodiumError):
                    client.predict(self.ensemble, rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._asking.is_alive():
            self._asking.join(timeout=30)
        self.service.__exit__(*error)
