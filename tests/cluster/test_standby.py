"""Two services on one PostgreSQL database, one data directory and one Ray cluster: one leads, the other succeeds it."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest

from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from tests.cluster.machines import Network
from tests.cluster.standby_rig import StandbyPair
from tests.running_service import function_sweep, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SLOW_S = 60.0  # on a machine under load; the limit itself is measured by `python -m tests.faults --standby`
LONG_S = 240.0
FEATURES = 64
MODELS = {
    "name": "members", "method": "random", "metric": {"name": "val_loss", "goal": "minimize"}, "run_cap": 2,
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "parameters": {"lr": {"min": 0.001, "max": 0.1, "log": True}, "epochs": {"value": 1}},
}  # fmt: skip
ENSEMBLE = ("--members", "2", "--mode", "between_graph", "--quorum", "1", "--deadline-ms", "2000", "--name", "two")
TRIALS = 30
PROGRAM = """
import time

def train(trial):
    for step in range(4):
        time.sleep(0.4)
        trial.report(1.0 / (step + 1), step)
    return 1.0
"""


@pytest.fixture(scope="module")
def pair(can_make_machines: None) -> Iterator[StandbyPair]:
    with tempfile.TemporaryDirectory(prefix="s-") as made, Network(Path(made) / "m") as network:
        (Path(made) / "code").mkdir()
        (Path(made) / "code" / "program.py").write_text(PROGRAM)
        with StandbyPair(network, Path(made)) as pair:
            pair.add("a")
            pair.wait_until_ready("a")
            pair.add("b")
            pair.wait_until_ready("b")
            yield pair


class Predictions:
    """Predictions through the gateway of a service, one after the other in a thread."""

    def __init__(self, pair: StandbyPair, name: str) -> None:
        socket = RuntimeDirectory(pair.services[name].machine.folder / "run").gateway_socket("gateway")
        self._client = httpx2.Client(
            transport=httpx2.HTTPTransport(uds=str(socket)), base_url="http://localhost", timeout=10.0,
            headers={"authorization": f"Bearer {pair.data.admin_token.read_text().strip()}"},
        )  # fmt: skip
        self.answers: list[tuple[int, int]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def predict(self) -> tuple[int, int]:
        """The status, and how many members have answered."""
        answer = self._client.post("/api/v1/ensembles/two/predict", json={"inputs": [[0.5] * FEATURES]})
        return answer.status_code, answer.json().get("answered", 0)

    def __enter__(self) -> Predictions:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        while not self._over.wait(0.1):
            self.answers.append(self.predict())


def test_ensemble_answers_from_both_gateways(pair: StandbyPair) -> None:
    sweep_id = pair.services["b"].submit(MODELS, pair.folder)
    wait_for("the sweep has finished", lambda: pair.state(sweep_id) == "finished", LONG_S)
    pair.services["b"].command("ensemble", "build", str(sweep_id), *ENSEMBLE, "--no-wait", "--json")
    query = "SELECT state FROM replicas"
    wait_for("the members are ready", lambda: pair.rows(query) == [("ready",)] * 2, LONG_S)
    for name in ("a", "b"):
        with Predictions(pair, name) as predictions:
            wait_for(f"the gateway of {name} answers", partial(predictions.answers.__contains__, (200, 2)), SLOW_S)


def test_service_is_succeeded_and_its_sweep_continues(pair: StandbyPair) -> None:
    """The leader is killed, frozen, and cut off in turn, while one sweep runs, whose trials all count once."""
    leader = pair.wait_for_leader("a", "b")
    assert leader == "a" and "stands by" in pair.services["b"].log
    sweep = function_sweep(pair.folder / "code", "program:train", run_cap=TRIALS)
    sweep_id = pair.services["b"].submit(sweep, pair.folder)  # the api of the standby accepts it
    wait_for("a trial has finished", lambda: pair.finished(sweep_id) > 0, LONG_S)

    started = time.monotonic()
    with Predictions(pair, "b") as predictions:
        pair.services["a"].kill()
        assert pair.wait_for_leader("b", timeout_s=SLOW_S) == "b"
        print(f"killed: the lease was taken after {time.monotonic() - started:.1f} s")
        before = pair.finished(sweep_id)
        wait_for("the sweep continues", lambda: pair.finished(sweep_id) > before, SLOW_S)
        print(f"killed: a trial has finished after {time.monotonic() - started:.1f} s")
    statuses = Counter(predictions.answers)
    print(f"killed: predictions through the gateway of the standby: {statuses}")
    assert statuses.keys() == {(200, 2)}, "members on nodes outlive the leader"

    pair.add("c")
    pair.wait_until_ready("c")
    started = time.monotonic()
    pair.stop_processes("b")
    assert pair.wait_for_leader("c", timeout_s=SLOW_S) == "c"
    print(f"frozen: the lease was taken after {time.monotonic() - started:.1f} s")
    before = pair.finished(sweep_id)
    wait_for("the sweep continues", lambda: pair.finished(sweep_id) > before, SLOW_S)
    pair.stop_processes("b", signal.SIGCONT)
    wait_for("the old leader stands by", lambda: "it stands by" in pair.services["b"].log, SLOW_S)

    started = time.monotonic()
    pair.services["c"].machine.unplug()
    assert pair.wait_for_leader("b", timeout_s=SLOW_S) == "b"
    print(f"cut: the lease was taken after {time.monotonic() - started:.1f} s")
    pair.services["c"].machine.plug()

    wait_for("the sweep has finished", lambda: pair.state(sweep_id) == "finished", LONG_S)
    assert pair.count_problems(sweep_id, TRIALS) == {"lost": 0, "counted twice": 0}
    pair.audit()
