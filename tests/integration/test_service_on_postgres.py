"""A service whose database is PostgreSQL's: sweeps, ensembles, kills of its components and of the server."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from podium.db.schema.open_database import open_database_of
from podium.db.schema.postgres_url_source import VARIABLE
from podium.sweep.runtime.layout import DataDirectory
from tests.doctor import assert_no_breaches
from tests.faults.journal import Journal, compare
from tests.faults.victims import reported_components
from tests.faults.workload import CODE
from tests.postgres_server import ROLE, PostgresServer, new_server
from tests.running_service import RunningService, function_sweep, podium, wait_for
from tests.specs import builtin_document

pytestmark = pytest.mark.postgres

PASSWORD = "open-sesame-7"
NAME = "podium_service"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    started = new_server(max_connections="100")
    started.execute(f"ALTER ROLE {ROLE} PASSWORD '{PASSWORD}'")
    yield started
    started.stop(immediately=True)


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> str:
    """The URL of an empty database, with a password."""
    server.create(NAME)
    return server.url(NAME).replace(f"{ROLE}@", f"{ROLE}:{PASSWORD}@")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, url: str) -> Iterator[RunningService]:
    """A service that gets the URL in its environment; its rows and files are checked when it has stopped."""
    data = DataDirectory(tmp_path_factory.mktemp("postgres") / "data")
    with RunningService(data.root, environment={VARIABLE: url}) as running:
        yield running
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, url)
        database = open_database_of(data)
        assert_no_breaches(data, database)
        database.close()


def test_sweep_and_its_ensembles(service: RunningService) -> None:
    client = service.client
    parameters = {"lr": {"min": 1e-3, "max": 1e-2, "log": True}, "epochs": {"value": 1}}
    sweep = client.wait(client.submit(builtin_document(run_cap=3, parameters=parameters))["id"], 120)
    trials = list(client.trials(sweep["id"]))

    results = {}
    for mode in ("in_graph", "between_graph"):
        built = client.build_ensemble(
            trial_ids=[trial["id"] for trial in trials], mode=mode, name=mode.replace("_", "-")
        )
        client.wait_ensemble(built["id"], 120)
        results[mode] = client.evaluate(built["id"])

    assert (sweep["state"], [trial["state"] for trial in trials]) == ("finished", ["finished"] * 3)
    assert {mode: result["state"] for mode, result in results.items()} == dict.fromkeys(results, "finished")
    for ensemble in client.ensembles():
        client.retire_ensemble(ensemble["id"])


def test_password_is_in_no_argument_environment_or_log(service: RunningService) -> None:
    parameters = {"x": {"min": 0.0, "max": 1.0}, "seconds": {"value": 3.0}}
    sweep_id = service.client.submit(function_sweep(CODE, "short:nap", parameters=parameters, run_cap=2))["id"]
    wait_for("a trial runs", lambda: any(trial["state"] == "running" for trial in service.client.trials(sweep_id)))

    processes = service.processes()
    shown = [
        (process.pid, name)
        for process in processes
        for name in ("cmdline", "environ")
        if PASSWORD.encode() in Path(f"/proc/{process.pid}/{name}").read_bytes()
    ]
    written = [path for path in service.data.root.rglob("*") if path.is_file() and PASSWORD in _text(path)]

    assert psutil.Process(service.process.pid) in processes and len(processes) > 10
    assert (shown, written) == ([], [])
    service.client.cancel_sweep(sweep_id)


@pytest.mark.slow
def test_commands_find_the_database_of_a_running_service(service: RunningService, tmp_path: Path) -> None:
    directory = ("--data-dir", str(service.data.root))
    commands = {
        "status": podium("status", *directory),
        "doctor": podium("doctor", *directory),
        "check": podium("db", "check", *directory),
        "backup": podium("backup", str(tmp_path / "backup"), *directory),
        "db backup": podium("db", "backup", str(tmp_path / "podium.pgdump"), *directory),
    }

    assert {name: (done.returncode, done.stderr) for name, done in commands.items() if done.returncode} == {}
    assert "PostgreSQL" in commands["check"].stdout and "invariants hold" in commands["doctor"].stdout
    assert PASSWORD not in "".join(done.stdout + done.stderr for done in commands.values())


@pytest.mark.slow
@pytest.mark.parametrize("component", ["scheduler", "api", "host"])
def test_killed_component_loses_nothing(service: RunningService, component: str) -> None:
    sweep_id, journal = _started_sweep(service, f"killed-{component}")
    killed = reported_components(service.data)[component].pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_for(f"{component} is back", lambda: _is_back(service, component, killed))
    _assert_kept(service, sweep_id, journal)


@pytest.mark.slow
def test_restarted_server_loses_nothing(service: RunningService, server: PostgresServer) -> None:
    sweep_id, journal = _started_sweep(service, "restarted-server")
    server.stop(immediately=True)
    server.start()
    _assert_kept(service, sweep_id, journal)


@pytest.mark.slow
def test_service_waits_for_a_server_that_is_away(service: RunningService, server: PostgresServer) -> None:
    sweep_id, journal = _started_sweep(service, "server-away")
    server.stop(immediately=True)
    wait_for("the page says so", lambda: not service.client.ready()["ready"])
    server.start()
    wait_for("the service is ready again", lambda: service.client.ready()["ready"])
    _assert_kept(service, sweep_id, journal)


def _started_sweep(service: RunningService, name: str) -> tuple[int, Journal]:
    """A sweep of which some trials have finished and others run."""
    parameters = {"x": {"min": 0.0, "max": 1.0}, "seconds": {"min": 0.1, "max": 0.5}}
    document = function_sweep(CODE, "short:nap", name=name, parameters=parameters, run_cap=24)
    sweep_id, journal = service.client.submit(document)["id"], Journal()
    journal.record_acknowledged(sweep_id, name)
    wait_for("trials finish", lambda: _record(service, sweep_id, journal) >= 4)
    return sweep_id, journal


def _is_back(service: RunningService, component: str, killed: int) -> bool:
    found = reported_components(service.data).get(component)
    return found is not None and found.ready and found.pid != killed


def _record(service: RunningService, sweep_id: int, journal: Journal) -> int:
    """Record the trials that the client sees as finished; their number."""
    found = [trial for trial in service.client.trials(sweep_id) if trial["state"] == "finished"]
    for trial in found:
        journal.record_finished_trial(trial["id"], sweep_id, trial["number"], trial["value"])
    return len(found)


def _assert_kept(service: RunningService, sweep_id: int, journal: Journal) -> None:
    """The sweep finishes, with every result that was seen before, and each attempt ran once."""
    state = wait_for("the sweep is over", lambda: _over(service, sweep_id), 120.0)
    journal.record_ended_sweep(sweep_id, state)
    _record(service, sweep_id, journal)
    result = compare(journal, service.data, [])

    assert (state, result.lost, result.double, result.unexplained) == ("finished", (), (), ())


def _over(service: RunningService, sweep_id: int) -> str:
    state = service.client.sweep(sweep_id)["state"]
    return state if state in ("finished", "failed", "cancelled") else ""


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")
