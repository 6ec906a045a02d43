"""One campaign: a real service with data, and rounds of schemathesis until enough cases were sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil

from tests.doctor import assert_no_breaches
from tests.fuzz.described import TINY, fuzzing_document
from tests.running_service import RunningService, wait_for

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
)
# A stream never ends, and too many failed logins block an address. Both have separate tests.
LEFT_OUT = ("/api/v1/events", "/api/v1/session")
# Another route takes the last segment of these paths for an id and refuses it.
SHADOWED = frozenset(
    f"Wrong response to undeclared method: {operation}"
    for operation in ("GET /api/v1/ensembles/preview", "PATCH /api/v1/sweeps/import")
)
# An ensemble that is warming up or has late members responds 503 or 504, as documented.
CONFIG = """
[[operations]]
include-path = "/api/v1/ensembles/{ensemble_id}/predict"
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", 503, 504]
"""
ROUND_S = 1_200


@dataclass(slots=True)
class Outcome:
    """The result of a campaign."""

    cases: int = 0
    rounds: int = 0
    failures: Counter[str] = field(default_factory=Counter)  # the failures and their routes
    restarts: int = 0  # components that had to be restarted
    grown_bytes: int = 0  # growth of the api's memory
    log: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.failures and self.restarts == 0

    def to_json(self) -> dict[str, Any]:
        return {
            "cases": self.cases, "rounds": self.rounds, "failures": dict(self.failures),
            "restarts": self.restarts, "api_grown_mb": round(self.grown_bytes / 1e6, 1),
        }  # fmt: skip


def run(cases: int, seed: int, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Fuzz until `cases` requests were sent; the service must then be up and its data consistent."""
    outcome = Outcome()
    with RunningService(folder / "data") as service:
        _furnish(service)
        document = folder / "openapi.json"
        document.write_text(json.dumps(fuzzing_document(_document(service))))
        before = _memory(service)
        while outcome.cases < cases:
            _round(service, document, seed + outcome.rounds, cases - outcome.cases, outcome)
            say(f"{outcome.cases:,} cases in {outcome.rounds} rounds; {sum(outcome.failures.values())} failures")
        outcome.grown_bytes = _memory(service) - before
        outcome.restarts = sum(part["restarts"] for part in service.client.ready()["parts"])
        _quiet(service)
    assert_no_breaches(service.data)
    return outcome


def _furnish(service: RunningService) -> None:
    """Create a finished sweep with an ensemble, so that guessed ids exist."""
    sweep = service.client.submit({**TINY, "ensemble": {"k": 2, "name": "furniture"}})
    service.client.wait(sweep["id"])
    wait_for("the ensemble is ready", lambda: _ready(service), 90)


def _ready(service: RunningService) -> bool:
    return any(each["state"] == "ready" for each in service.client.ensembles())


def _document(service: RunningService) -> dict[str, Any]:
    found: dict[str, Any] = httpx2.get(f"{service.client.url}/openapi.json").json()
    return found


def _memory(service: RunningService) -> int:
    resident: int = psutil.Process(service.pid("api")).memory_info().rss
    return resident


def _quiet(service: RunningService) -> None:
    """End what the requests started."""
    for sweep in service.client.sweeps():
        if sweep["state"] not in ("finished", "cancelled", "failed"):
            service.client.cancel_sweep(sweep["id"])


def _round(service: RunningService, document: Path, seed: int, wanted: int, outcome: Outcome) -> None:
    operations = sum(len(each) for each in json.loads(document.read_text())["paths"].values())
    phases = "examples,coverage,fuzzing,stateful" if outcome.rounds == 0 and wanted > 3_000 else "fuzzing,stateful"
    report = document.with_name(f"report-{outcome.rounds}.json")
    token = service.data.admin_token.read_text().strip()
    (document.parent / "schemathesis.toml").write_text(CONFIG)  # found in the working directory
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", str(document), "--url", service.client.url,
        "--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS), "--phases", phases,
        "--max-examples", str(max(1, min(100, wanted // operations))), "--seed", str(seed), "--continue-on-failure",
        "--no-shrink", "--request-timeout", "30", "--workers", "1", "--warnings", "off",
        "--report", "json", "--report-json-path", str(report),
    ]  # fmt: skip
    for path in LEFT_OUT:
        command += ["--exclude-path", path]
    ended = subprocess.run(
        command, cwd=document.parent, capture_output=True, text=True, timeout=ROUND_S, check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    outcome.log.append(ended.stdout + ended.stderr)
    assert report.exists(), ended.stdout + ended.stderr
    _count(json.loads(report.read_text()), outcome)


def _count(found: dict[str, Any], outcome: Outcome) -> None:
    outcome.rounds += 1
    outcome.cases += found["test_cases"]["generated"]
    for failure in found["failures"]:
        for operation in failure["operations"]:
            what = f"{failure['title']}: {operation}"
            if what not in SHADOWED:
                outcome.failures[what] += 1
    for error in found["errors"]:
        outcome.failures[f"error of the fuzzer: {error['title']}"] += error["count"]
