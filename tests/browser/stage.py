"""The service of the browser tests, with sweeps that are finished, running, and full of HTML."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from podium.api.client.client import Client
from tests.browser.login import fresh_link, printed_link
from tests.browser.studies import dense_study, tied_study
from tests.running_service import RunningService, function_sweep
from tests.specs import builtin_document
from tests.visitor import Visitor

PROGRAMS = Path(__file__).parent / "programs"
PLANTED = "<img src=x onerror=\"document.title='planted'\">"
SPACE = {
    "lr": {"min": 1e-4, "max": 1e-1, "log": True},
    "width": {"min": 16, "max": 256},
    "optimizer": {"values": ["adam", "sgd"]},
}


class Stage:
    """One service and the cookie of an administrator; sweeps are created on first use."""

    def __init__(self, folder: Path, chrome: Browser) -> None:
        self.service = RunningService(folder / "data")
        self._log = folder / "data.log"
        self._chrome = chrome
        self._state: Any = None

    @property
    def client(self) -> Client:
        return self.service.client

    @property
    def url(self) -> str:
        return self.service.client.url

    def printed_link(self) -> str:
        """The login link that `podium serve` printed last."""
        return printed_link(self._log)

    def fresh_link(self) -> str:
        """A new login link."""
        return fresh_link(self.service.data.root)

    def visitor(self, *, signed_in: bool = True, **options: Any) -> Visitor:
        """A window; `options` are those of `Visitor`."""
        return Visitor(self._chrome, self.url, state=self._signed_in() if signed_in else None, **options)

    def _signed_in(self) -> Any:
        if self._state is None:
            with Visitor(self._chrome, self.url) as first:
                first.follow(self.fresh_link())
                self._state = first.state()
        return self._state

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stops the whole service for the duration of the block; it then starts at the same addresses."""
        about = json.loads(self.service.data.service_file.read_text())
        ports = (urlsplit(about["url"]).port or 0, urlsplit(about["gateway_url"]).port or 0)
        self.service.__exit__(None, None, None)
        try:
            yield
        finally:  # other tests need it
            self.service = RunningService(self.service.data.root, ports=ports)

    # Sweeps, by id.

    @functools.cached_property
    def finished(self) -> int:
        """40 trials with curves over three parameters, all ended."""
        return self._run(self.quick(name="curves", run_cap=40))

    @functools.cached_property
    def organized(self) -> int:
        """A small finished sweep, which tests rename and archive."""
        return self._run(self.quick(name="organized", run_cap=8))

    @functools.cached_property
    def pictures(self) -> int:
        """Two trials that log images over steps and save files."""
        parameters = {"depth": {"values": [1, 2]}}
        return self._run(self._curves("pictures", name="pictures", run_cap=2, method="grid", parameters=parameters))

    @functools.cached_property
    def digits(self) -> int:
        """Six networks on images of digits, whose models may join an ensemble."""
        parameters = {"lr": {"min": 1e-3, "max": 1e-2, "log": True}, "epochs": {"value": 2}}
        split = {"split": [0.5, 0.2, 0.1, 0.2], "seed": 0}
        return self._run(builtin_document(name="digits", run_cap=6, parameters=parameters, validation=split))

    @functools.cached_property
    def ensemble(self) -> int:
        """An ensemble of three of those networks, ready."""
        best = [trial["trial_id"] for trial in self.client.best(self.digits, 3)]
        built = self.client.build_ensemble(trial_ids=best, name="three digits", deadline_ms=500.0)
        return int(self.client.wait_ensemble(built["id"], 60)["id"])

    @functools.cached_property
    def metrics(self) -> int:
        """Four trials that log 201 metrics each; that with `x` 4 fails."""
        parameters = {"x": {"values": [1, 2, 3, 4]}}
        return self._run(self._curves("metrics", name="metrics", run_cap=4, method="grid", parameters=parameters))

    @functools.cached_property
    def tied(self) -> int:
        """An imported study over many parameters, with equal results, and pruned and failed trials."""
        return int(self.client.import_sweep(tied_study())["id"])

    @functools.cached_property
    def dense(self) -> int:
        """An imported study of thousands of trials."""
        return int(self.client.import_sweep(dense_study())["id"])

    @functools.cached_property
    def planted(self) -> int:
        """A sweep whose strings all contain HTML; its trial 1 fails."""
        choice = {"<b>choice</b>": {"values": [PLANTED, "other"]}, PLANTED: {"value": PLANTED}}
        first = [{"<b>choice</b>": PLANTED}] * 2
        return self._run(self._curves("planted", name=PLANTED, run_cap=3, parameters=choice, enqueue=first))

    def quick(self, **changes: Any) -> dict[str, Any]:
        """A sweep file of trials that end immediately, each with a curve."""
        return self._curves("quick", **{"parameters": SPACE, **changes})

    def failing(self, **changes: Any) -> dict[str, Any]:
        """A sweep file of trials that raise an exception for even values of the parameter `x`."""
        return self._curves("failing", **changes)

    def going(self, **changes: Any) -> int:
        """A new sweep whose trials run until they are stopped."""
        return int(self.client.submit(self._curves("going", **{"name": "going", **changes}))["id"])

    def _curves(self, function: str, **changes: Any) -> dict[str, Any]:
        return function_sweep(PROGRAMS, f"curves:{function}", **changes)

    def _run(self, document: dict[str, Any]) -> int:
        sweep = int(self.client.submit(document)["id"])
        assert self.client.wait(sweep, 60)["state"] == "finished"
        return sweep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.service.__exit__(*error)
