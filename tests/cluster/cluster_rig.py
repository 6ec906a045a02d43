"""A service whose devices are on several machines of the rig. They share the real machine's file system."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from podium.db.schema.sqlite_database import connect, sqlite_module
from podium.sweep.ray_cluster import ray_connection_settings
from podium.sweep.runtime.joined_node_settings import NodeSettings
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_trees import children
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.service_settings import CLUSTER_PORT, DevicePlan, ServiceSettings
from tests.cluster.machines import Machine, Network
from tests.running_service import PODIUM, wait_for

START_S = 60.0
DOCTOR_S = 180.0  # it waits for what is about to be corrected
SERVE = """
import sys
from pathlib import Path
from podium.api.serve.startup import serve
from podium.sweep.runtime.service_settings import ServiceSettings

serve(ServiceSettings.load(Path(sys.argv[1])), lambda line: print(line, file=sys.stderr, flush=True))
"""


class Attempt(NamedTuple):
    """A row of `attempts`, with the number of its trial."""

    trial: int
    number: int
    device: str
    started_at: float
    ended_at: float | None
    state: str | None
    cause: str | None
    nonce: str


class Service:
    """A service on one machine of the rig."""

    def __init__(self, machine: Machine, folder: Path, *, data_dir: Path | None = None, **settings: Any) -> None:
        """Start it. `folder`: of its data, unless in `data_dir`, and its log; `settings`: of `ServiceSettings`."""
        self.machine = machine
        self.data = DataDirectory(data_dir or folder / "data", settings.get("service", ""))
        runtime = str(machine.folder / "run")
        self._settings = ServiceSettings(str(self.data.root), runtime, cluster=machine.address, **settings)
        self._log_file = folder / "serve.log"
        self._log = self._log_file.open("ab")
        self.start()

    def start(self) -> None:
        """Start it, also again."""
        self._settings.runtime.prepare()
        command = [sys.executable, "-P", "-c", SERVE, str(self._settings.save())]
        self.process = self.machine.start(command, stdout=self._log, stderr=self._log)

    @property
    def log(self) -> str:
        """What `podium serve` has printed."""
        return self._log_file.read_text()

    def wait_until(self, what: str, condition: Callable[[], Any], timeout_s: float = START_S) -> None:
        """Wait for a condition; prints the logs if it does not hold in time."""
        try:
            wait_for(what, condition, timeout_s)
        except BaseException:
            self.print_logs()
            raise

    def print_logs(self, *others: Path) -> None:
        """Print the ends of the logs of the service, and of other ones."""
        for path in [self._log_file, *self.data.logs.glob("*.log"), *others]:
            print(f"--- {path}\n{path.read_text()[-3000:] if path.exists() else 'missing'}")

    def kill(self) -> None:
        """Kill its machine."""
        self.machine.kill()
        self._log.close()

    def signal(self, number: int) -> int:
        """Send a signal to `podium serve`, and wait for its end; its exit status."""
        (serve,) = children(self.process.pid)  # below the process that entered the namespaces
        os.kill(serve, number)
        return self.process.wait(timeout=30)

    def check(self) -> None:
        """Raises `AssertionError` if the doctor finds a breach."""
        if breaches := self.breaches():
            self.print_logs()
        assert not breaches, breaches

    def breaches(self) -> list[dict[str, Any]]:
        """What the doctor finds."""
        _, said, complaint = self._ask("doctor", "--json", timeout_s=DOCTOR_S)
        assert said, complaint
        return [each for each in json.loads(said)["breaches"] if not self._is_of_the_rig(each)]

    def _is_of_the_rig(self, breach: dict[str, Any]) -> bool:
        """Whether the rig is the reason of a breach, not the service."""
        return False

    def close(self) -> None:
        """Stop the service as Ctrl-C does, after the doctor has found nothing."""
        try:
            self.check()
        finally:
            self._stop()

    def _stop(self) -> None:
        status = self.signal(signal.SIGTERM)
        self._log.close()
        assert status == 0, "`podium serve` stops cleanly"

    def devices(self, state: str) -> set[str]:
        """The devices in this state."""
        return {row[0] for row in self.rows("SELECT id FROM devices WHERE state = :state", state=state)}

    def attempts(self, sweep_id: int) -> list[Attempt]:
        """All attempts of a sweep, by trial."""
        query = (
            "SELECT t.number, a.number, a.device_id, a.started_at, a.ended_at, a.state, a.cause, a.nonce"
            " FROM attempts a JOIN trials t ON t.id = a.trial_id WHERE t.sweep_id = :sweep ORDER BY t.number, a.number"
        )
        return [Attempt(*row) for row in self.rows(query, sweep=sweep_id)]

    def running(self, sweep_id: int) -> list[Attempt]:
        """The attempts of a sweep that have not ended."""
        return [each for each in self.attempts(sweep_id) if each.ended_at is None]

    def folder_of(self, sweep_id: int, attempt: Attempt) -> Path:
        """The folder of an attempt on the head."""
        return self.data.attempt(sweep_id, attempt.trial, attempt.number, attempt.nonce)

    def rows(self, query: str, **values: Any) -> list[Any]:
        """Read the database, which all machines share; [] before it has been created."""
        try:
            with contextlib.closing(connect(self.data.database, "ro")) as connection:
                return list(connection.execute(query, values))
        except sqlite_module().OperationalError:
            return []

    def submit(self, document: dict[str, Any], folder: Path) -> int:
        """Submit a sweep; its id."""
        path = folder / "sweep.json"
        path.write_text(json.dumps(document))
        return int(self.command("sweep", "submit", str(path), "--json")["id"])

    def state(self, sweep_id: int) -> str:
        """The state of a sweep."""
        return str(self.rows("SELECT state FROM sweeps WHERE id = :sweep", sweep=sweep_id)[0][0])

    def command(self, *arguments: str) -> Any:
        """Run `podium ARGUMENTS...` on the machine of the service; its JSON."""
        return json.loads(self.say(*arguments))

    def say(self, *arguments: str) -> str:
        """Run `podium ARGUMENTS...` on the machine of the service; what it prints."""
        status, said, complaint = self._ask(*arguments)
        if status != 0:
            raise AssertionError(f"podium {' '.join(arguments)}: {complaint}")
        return said

    def _ask(self, *arguments: str, timeout_s: float = 60.0) -> tuple[int, str, str]:
        """Run `podium ARGUMENTS...`; its status, and what it prints on its two outputs."""
        command = [*PODIUM, *arguments, "--data-dir", str(self.data.root)]
        process = self.machine.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said, complaint = process.communicate(timeout=timeout_s)
        return process.returncode, str(said), str(complaint)


class Cluster(Service):
    """A service on the machine `head`, and the nodes that have joined it."""

    def __init__(
        self, network: Network, folder: Path, *, head_slots: int, ray_tls: bool = False, artifact_url: str = ""
    ) -> None:
        self.head = network.add("head")
        self._network = network
        self._tokens: dict[str, str] = {}  # of nodes, by name
        self._without_agent: set[str] = set()  # names of nodes
        devices = DevicePlan("cpu", head_slots)
        super().__init__(self.head, folder, devices=devices, ray_tls=ray_tls, artifact_url=artifact_url)
        self.wait_until("the slots of the head are open", lambda: len(self.devices("ready")) == head_slots)

    def stray_machine(self, name: str) -> Machine:
        """A new machine that is no node."""
        return self._network.add(name)

    def join(self, name: str, slots: int, wait_s: float | None = None) -> Machine:
        """A new machine with this many CPU slots, which are open when this returns. It has no agent and no files of its
        own: it uses the data directory of the head.

        `wait_s`: how long it waits for a head that does not answer.
        """
        self._without_agent.add(name)
        machine = self._network.add(name)
        runtime = RuntimeDirectory(machine.folder / "run")
        runtime.prepare()
        settings = NodeSettings(
            f"{self.head.address}:{CLUSTER_PORT}", machine.address, name, str(self.data.root), str(runtime.root), slots
        )
        token = ray_connection_settings.environment(self.data.ray_token, cluster=True, wait_s=wait_s)
        log = self._log
        command = [sys.executable, "-P", "-m", "podium.sweep.ray_cluster.joined_node_guardian", str(settings.save())]
        machine.start(command, token, stdout=log, stderr=log)
        names = {f"{name}:cpu-{position}" for position in range(slots)}
        wait_for(f"{name} has joined", lambda: names <= self.devices("ready"), START_S)
        return machine

    def _is_of_the_rig(self, breach: dict[str, Any]) -> bool:
        """A lost attempt on a node without an agent: the folder that its agent would remove is one of the head."""
        path = Path(str(breach["rows"].get("path", "")))
        if breach["invariant"] != "stray" or not path.is_relative_to(self.data.trials):
            return False
        sweep, trial, folder = path.relative_to(self.data.trials).parts[:3]
        found = [each for each in self.attempts(int(sweep)) if each.trial == int(trial)]
        its = [each for each in found if self.folder_of(int(sweep), each).name == folder]
        return any(each.cause == "node_lost" and each.device.partition(":")[0] in self._without_agent for each in its)

    def join_by_command(self, name: str, slots: int) -> Machine:
        """A new machine with files of its own, on which a user runs `podium node join`; its slots are open."""
        return self.join_with_disk(name, slots)[0]

    def join_with_disk(
        self, name: str, slots: int, disk_mb: int | None = None
    ) -> tuple[Machine, subprocess.Popen[Any]]:
        """As `join_by_command`, with the process of the command.

        `disk_mb`: the size of the disk with the data directory; None: that of the real machine.
        """
        machine = self._network.add(name)
        if disk_mb is not None:
            machine.limit_disk(machine.folder / "data", disk_mb)
        process = self.start_node(machine, slots)
        names = {f"{name}:cpu-{position}" for position in range(slots)}
        try:
            wait_for(f"{name} has joined", lambda: names <= self.devices("ready"), START_S)
        except BaseException:
            self.print_logs(machine.folder / "data" / "logs" / "node.log")
            raise
        return machine, process

    def start_node(self, machine: Machine, slots: int) -> subprocess.Popen[Any]:
        """Run `podium node join` on a machine; it may have run there before."""
        token = machine.folder / "token"
        token.write_text(self.token_of(machine.name))
        command = [
            *PODIUM, "node", "join", self.head.address, "--token-file", str(token), "--devices", f"cpu:{slots}",
            "--data-dir", str(machine.folder / "data"),
        ]  # fmt: skip
        return machine.start(command, stdout=self._log, stderr=self._log)

    def token_of(self, name: str) -> str:
        """The token of a node, for all machines of this name."""
        if name not in self._tokens:
            self._tokens[name] = str(self.command("token", "create", name, "--role", "node", "--json")["token"])
        return self._tokens[name]

    def take_out(self, machine: Machine) -> None:
        """Kill a machine, end what still runs, and wait until its slots are known to be lost."""
        machine.kill()
        for (sweep_id,) in self.rows("SELECT id FROM sweeps WHERE state IN ('queued', 'running', 'stopping')"):
            self.command("sweep", "cancel", str(sweep_id), "--json")
        wait_for("its slots are lost", lambda: not self.devices("ready") & {f"{machine.name}:cpu-0"})
