"""Kills at fail points, before and after each commit and hand-over: the service recovers, and trials count once."""

from __future__ import annotations

import ast
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.api.client.client import Client
from podium.api.client.sweep_responses import SweepInfo
from podium.sweep.runtime.fail_points import POINTS, VARIABLE, commit_point
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import ServiceError
from tests.doctor import assert_no_breaches
from tests.faults.workload import CODE, TIMEOUT_S
from tests.repository import ROOT
from tests.running_service import PODIUM, RunningService, function_sweep, wait_for
from tests.specs import builtin_document

PACKAGES = ("sweep", "ensemble", "api", "db")
TRIALS = 12
IN_A_SWEEP = [name for name in POINTS if name.startswith(("scheduler.", "slot.", "fork-server.", "attempt."))]
IN_RETENTION = [name for name in POINTS if name.startswith("retention.")]
IN_A_RELEASE = [name for name in POINTS if name.startswith("release.")]
IN_THE_API = [name for name in POINTS if name.startswith("api.")]
IN_THE_HOST = [name for name in POINTS if name.startswith("host.")]
IN_THE_MIGRATION = [name for name in POINTS if name.startswith("migrate.")]
AT_THE_START = [name for name in POINTS if name.startswith("serve.")]
numbers = itertools.count()


class ArmedService(RunningService):
    """A service in which a fail point can be armed while it runs."""

    def __init__(self, folder: Path) -> None:
        self.points = folder / "points"
        self.points.mkdir(exist_ok=True)
        super().__init__(folder / "data", environment={VARIABLE: str(self.points)})

    def arm(self, name: str, passings: int) -> None:
        assert name in POINTS
        (self.points / name).write_text(str(passings))

    def wait_dead(self, name: str) -> None:
        """Wait until the process that reaches the fail point has killed itself."""
        wait_for(f"somebody dies at {name}", lambda: not (self.points / name).exists())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmedService]:
    """One service for all tests; its data is checked when it has stopped."""
    with ArmedService(tmp_path_factory.mktemp("armed")) as running:
        yield running
    assert_no_breaches(running.data)


def sweep(**changes: Any) -> dict[str, Any]:
    parameters = {"x": {"min": 0.0, "max": 1.0}, "seconds": {"value": 0.05}}
    name = f"armed-{next(numbers)}"
    return function_sweep(CODE, "short:reports", name=name, parameters=parameters, run_cap=TRIALS, **changes)


def assert_counted_once(client: Client, sweep_id: int) -> None:
    """Assert that all trials finished, each only in its last attempt."""
    assert client.wait(sweep_id, 60)["state"] == "finished"
    trials = list(client.trials(sweep_id))
    assert [trial["state"] for trial in trials] == ["finished"] * TRIALS
    for trial in trials:
        states = [attempt["state"] for attempt in client.trial(trial["id"])["attempts"]]
        assert states.count("finished") == 1 and states[-1] == "finished" and len(states) == trial["attempt"]


@pytest.mark.parametrize("name", IN_A_SWEEP)
def test_sweep_finishes_when_killed_at_fail_point(service: ArmedService, name: str) -> None:
    service.arm(name, passings=5)
    sweep_id = service.client.submit(sweep())["id"]
    service.wait_dead(name)
    assert_counted_once(service.client, sweep_id)
    repeated = sum(trial["attempt"] - 1 for trial in service.client.trials(sweep_id))
    assert repeated <= 2, "not more than was on the two slots"


@pytest.mark.parametrize("name", IN_RETENTION)
def test_only_best_weights_are_kept_when_scheduler_is_killed_at_fail_point(service: ArmedService, name: str) -> None:
    parameters = {"lr": {"min": 1e-4, "max": 0.1, "log": True}, "epochs": {"value": 1}}
    service.arm(name, passings=2)
    sweep_id = service.client.submit(builtin_document(run_cap=6, parameters=parameters, keep={"models": 1}))["id"]
    service.wait_dead(name)
    assert service.client.wait(sweep_id, 60)["state"] == "finished"
    (best,) = service.client.best(sweep_id, 1)
    folder = service.data.trials / str(sweep_id)
    wait_for("one is left", lambda: [path.parts[-3] for path in folder.glob("*/*/model.*")] == [str(best["number"])])


@pytest.mark.parametrize(
    "name, passings", [("before", 1), ("after", 1), pytest.param("after", 2, marks=pytest.mark.slow)]
)
def test_successor_starts_once_when_scheduler_is_killed_at_fail_point(
    service: ArmedService, name: str, passings: int
) -> None:
    """Before the release is written; after the end of the predecessor is written; after the release is written."""
    first = service.client.submit(sweep())["id"]
    fix_from = {"sweep": first, "parameters": ["x"]}
    second = service.client.submit(sweep(fix_from=fix_from))["id"]
    point = f"release.{name}-write"
    assert point in IN_A_RELEASE
    service.arm(point, passings)
    service.wait_dead(point)
    for sweep_id in (first, second):
        assert_counted_once(service.client, sweep_id)
    (best,) = service.client.best(first)
    assert service.client.sweep(second)["fixed"] == {
        "sweep_id": first, "trial_id": best["trial_id"], "number": best["number"], "params": {"x": best["params"]["x"]}
    }  # fmt: skip
    assert {trial["params"]["x"] for trial in service.client.trials(second)} == {best["params"]["x"]}


@pytest.mark.parametrize("name", IN_THE_API)
def test_sweep_is_accepted_once_when_api_is_killed_at_fail_point(service: ArmedService, name: str) -> None:
    document = sweep()
    service.client.submit(sweep())  # uploads the code, so that the next commit is the one below
    service.arm(name, passings=1)
    client = Client.of(service.data.root, retry_s=0)
    with pytest.raises(ServiceError):
        client.submit(document, idempotency_key=document["name"])
    service.wait_dead(name)
    client = Client(service.client.url, service.data.admin_token.read_text().strip(), TIMEOUT_S, retry_s=0)
    answer = wait_for("the api answers", lambda: _submitted(client, document))
    assert [found["id"] for found in client.sweeps() if found["name"] == document["name"]] == [answer["id"]]
    assert_counted_once(client, answer["id"])
    client.close()


def _submitted(client: Client, document: dict[str, Any]) -> SweepInfo | None:
    try:
        return client.submit(document, idempotency_key=document["name"])
    except ServiceError:
        return None


@pytest.mark.parametrize(("name", "passings"), list(zip(IN_THE_HOST, (1, 2), strict=True)))
def test_ensemble_becomes_ready_when_host_is_killed_at_fail_point(
    service: ArmedService, name: str, passings: int
) -> None:
    parameters = {"lr": {"value": 1e-3}, "epochs": {"value": 1}}
    trained = service.client.submit(
        builtin_document(run_cap=1, parameters=parameters, early_terminate={"type": "none"})
    )
    assert service.client.wait(trained["id"], 60)["state"] == "finished"
    service.arm(name, passings)
    ensemble = service.client.build_ensemble(trained["id"], k=1, name=name.replace(".", "-"))
    service.wait_dead(name)
    wait_for("it is ready", lambda: service.client.ensemble(ensemble["id"])["state"] == "ready")
    assert len(service.client.ensemble(ensemble["id"])["versions"]) == 1
    service.client.retire_ensemble(ensemble["id"])


@pytest.mark.parametrize("name", IN_THE_MIGRATION)
def test_migration_is_atomic_when_killed_at_fail_point(tmp_path: Path, name: str) -> None:
    data, points = DataDirectory(tmp_path / "data"), tmp_path / "points"
    data.prepare()
    points.mkdir()
    (points / name).write_text("1")
    command = [sys.executable, "-P", "-m", "podium.db.schema.migrate", str(data.database)]
    killed = subprocess.run(command, env={**os.environ, VARIABLE: str(points)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert subprocess.run(command, check=False).returncode == 0
    assert_no_breaches(data)


@pytest.mark.slow
def test_service_starts_after_serve_died_between_components(tmp_path: Path) -> None:
    points = tmp_path / "points"
    points.mkdir()
    command = [*PODIUM, "serve", "--data-dir", str(tmp_path / "data"), "--port", "0", "--gateway-port", "0"]
    for name in AT_THE_START:
        (points / name).write_text("1")
        died = subprocess.run(
            [*command, "--devices", "cpu:2"],
            env={**os.environ, VARIABLE: str(points)},
            capture_output=True,
            check=False,
        )
        assert died.returncode == -signal.SIGKILL, f"{name}: {died.stderr.decode()}"
    with ArmedService(tmp_path) as service:
        assert_counted_once(service.client, service.client.submit(sweep())["id"])
    assert_no_breaches(service.data)


def test_fail_points_in_code_and_registry_match() -> None:
    found = set()
    for path in [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fail_point":
                found.add(ast.unparse(node.args[0]))
    plain = {name for name in POINTS if not name.endswith("-commit") and not name.startswith("serve.")}
    assert found == {repr(name) for name in plain} | {
        "commit_point('before')",
        "commit_point('after')",
        "f'serve.before-{component.kind}'",
    }
    assert commit_point("before").endswith(".before-commit") and commit_point("after").endswith(".after-commit")
