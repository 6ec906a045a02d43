"""The same three networks behind Podium and its peers, queried over HTTP with one row of the digits."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import httpx2
import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks import load, processor_time
from benchmarks.load import LoadProcess, LoadResult
from benchmarks.peer_names import MODELS, WORKER
from podium.api.client.ensemble_responses import EnsembleInfo
from podium.api.client.service_for_command import service
from podium.api.serve.ports import free_port
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory

MEMBERS = 3
QUORUM = 2
DEVICES = "cpu:2"
FAST: dict[str, str] = {"RAY_SERVE_THROUGHPUT_OPTIMIZED": "1", "RAY_SERVE_ENABLE_HA_PROXY": "1"}
START_S = 180.0
STOP_S = 10.0
BENTOML = Path(sys.prefix) / "bentoml" / "bin" / "python"  # see bentoml-requirements.txt
_REPOSITORY = Path(__file__).parent.parent
_SWEEP = {
    "name": "digits",
    "method": "random",
    "seed": 1,
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {
        "lr": {"min": 1e-3, "max": 1e-2, "log": True},
        "hidden": {"value": 128},
        "layers": {"value": 1},
        "epochs": {"value": 8},
    },
    "run_cap": MEMBERS,
    "program": {"model": "mlp", "data": {"name": "digits"}},
}


@dataclass(frozen=True, slots=True)
class Answers:
    """What clients received, and the processor time of each kind of server process in seconds."""

    heard: LoadResult
    used_s: Mapping[str, float]

    @property
    def processor_us(self) -> float:
        """Processor time of all server processes for each successful response, in microseconds."""
        return 1e6 * sum(self.used_s.values()) / len(self.heard.good)

    @property
    def load_cores(self) -> float:
        """Cores that the clients used."""
        return self.heard.processor_s / self.heard.seconds

    def cores(self) -> str:
        """The cores that each kind of process used, the load included."""
        return processor_time.shares({**self.used_s, "load": self.heard.processor_s}, self.heard.seconds)


@dataclass(frozen=True, slots=True)
class Served:
    """A running ensemble: its address, the request, and its processes."""

    port: int
    content: bytes
    root: int  # the process that started all others
    members: tuple[int, ...]

    def ask(self, clients: int, seconds: float) -> Answers:
        """The responses that clients received after a short warm-up, and what they cost the servers."""
        load.ask(self.port, self.content, clients, min(1.0, seconds))
        before = processor_time.used_s(self.root, _name)
        heard = load.ask(self.port, self.content, clients, seconds)
        return Answers(heard, processor_time.between(before, processor_time.used_s(self.root, _name)))

    def start_asking(self, clients: int, seconds: float) -> LoadProcess:
        """Start the same load without a warm-up."""
        return load.start(self.port, self.content, clients, seconds)


def _name(process: psutil.Process) -> str:
    command = " ".join(process.cmdline())
    if "podium.api.gateway" in command:
        return "gateway"
    if process.name() == "podium-member" or ":Member" in command:
        return "members"
    if process.name() == WORKER:
        return "worker"
    if "Ensemble" in command:
        return "ingress"
    return "proxy" if "Proxy" in command or "haproxy" in command else "all else"


# Podium.


def train(data_dir: Path, deadline_ms: float) -> list[str]:
    """Train three networks with Podium, and build two stopped ensembles; returns the paths of the model files."""
    with service(data_dir, DEVICES, own=True) as client:
        sweep = client.wait(client.submit(_SWEEP)["id"])
        trials = sorted(client.trials(sweep["id"]), key=lambda trial: int(trial["number"]))
        if [trial["state"] for trial in trials] != ["finished"] * MEMBERS:
            raise RuntimeError(f"the sweep is {sweep['state']} with {sweep['counts']}: {sweep['reason']}")
        for mode in ("between_graph", "in_graph"):
            ids = [trial["id"] for trial in trials]
            built = client.build_ensemble(
                trial_ids=ids, name=mode, mode=mode, quorum=QUORUM, deadline_ms=deadline_ms, calibrate=False
            )
            client.wait_ensemble(built["id"])
            client.stop_ensemble(built["id"])
        folder = DataDirectory(data_dir).trials / str(sweep["id"])
        attempts = [next((folder / str(trial["number"])).iterdir()) for trial in trials]  # each has one
        return [str(AttemptDirectory(attempt).model) for attempt in attempts]


@contextlib.contextmanager
def podium(data_dir: Path, mode: str, *, binary: bool = False, gateways: int = 1) -> Iterator[Served]:
    """One of the two ensembles on a new service: in Podium's own JSON, or by the Open Inference Protocol."""
    with service(data_dir, DEVICES, own=True, options=("--gateways", str(gateways))) as client:
        client.start_ensemble(mode)
        try:
            yield _served(data_dir, client.wait_ensemble(mode), binary=binary)
        finally:
            client.stop_ensemble(mode)


def _served(data_dir: Path, ensemble: EnsembleInfo, *, binary: bool) -> Served:
    data = DataDirectory(data_dir)
    about = json.loads(data.service_file.read_text())
    token = {"Authorization": f"Bearer {data.admin_token.read_text().strip()}"}
    content = (
        _inference(ensemble["name"], token) if binary else _json(f"/api/v1/ensembles/{ensemble['id']}/predict", token)
    )
    members = processor_time.named(about["pid"], _name, "members")
    return Served(int(about["gateway_url"].rsplit(":", 1)[1]), content, about["pid"], members)


# Ray Serve.


@contextlib.contextmanager
def ray_serve(models: list[str], kind: str, deadline_ms: float, environment: dict[str, str]) -> Iterator[Served]:
    """See `benchmarks.ray_serve_baseline`. Raises `RuntimeError` if it does not start."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.ray_serve_baseline", kind, str(deadline_ms), str(port), *models]
    process = subprocess.Popen(
        command, cwd=_REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        _wait_until_ready(process)
        yield Served(port, _json("/", {}), process.pid, processor_time.named(process.pid, _name, "members"))
    finally:
        process.stdin.close()
        try:
            process.wait(START_S)
        finally:
            process.stdout.close()


def _wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    if not any(line.strip() == b"ready" for line in process.stdout):
        raise RuntimeError(f"Ray Serve ended with status {process.wait()}")


# Servers with all networks in one worker.


@contextlib.contextmanager
def litserve(models: list[str]) -> Iterator[Served]:
    """See `benchmarks.litserve_baseline`. Raises `RuntimeError` if it does not start."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.litserve_baseline", str(port), *models]
    with _one_worker(command, {}, port, "/health") as root:
        yield Served(port, _json("/predict", {}), root, ())


@contextlib.contextmanager
def bentoml(models: list[str]) -> Iterator[Served]:
    """See `benchmarks.bentoml_baseline`. Raises `RuntimeError` if it is not installed or does not start."""
    if not BENTOML.exists():
        raise RuntimeError(
            f"BentoML has an environment of its own, and there is no {BENTOML}: `make bench` installs it"
        )
    port = free_port()
    command = [str(BENTOML), "-m", "bentoml", "serve", "benchmarks.bentoml_baseline:Networks"]
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as home:
        environment = {MODELS: os.pathsep.join(models), "BENTOML_HOME": home, "BENTOML_DO_NOT_TRACK": "True"}
        command += ["--host", "127.0.0.1", "--port", str(port)]
        with _one_worker(command, environment, port, "/readyz") as root:
            yield Served(port, _json("/predict", {}), root, ())


@contextlib.contextmanager
def _one_worker(command: list[str], environment: dict[str, str], port: int, health: str) -> Iterator[int]:
    """Start a server, wait until it is healthy, and end it with all of its processes."""
    process = subprocess.Popen(
        command, cwd=_REPOSITORY, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **environment}, start_new_session=True,
    )  # fmt: skip
    try:
        _wait_until_healthy(process, f"http://127.0.0.1:{port}{health}")
        yield process.pid
    finally:
        family = processor_time.descendants(process.pid)
        process.terminate()
        process.wait(START_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # LitServe leaves its other processes behind
        psutil.wait_procs(family, timeout=STOP_S)


def _wait_until_healthy(process: subprocess.Popen[bytes], url: str) -> None:
    give_up_s = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < give_up_s:
        with contextlib.suppress(httpx2.TransportError):
            if httpx2.get(url).status_code == httpx2.codes.OK:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} was not healthy within {START_S:.0f} s, status {process.poll()}")


def peer_versions() -> str:
    """The peers with their versions; BentoML's from its own environment."""
    asked = [str(BENTOML), "-c", "import importlib.metadata as m; print(m.version('bentoml'))"]
    bento = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return f"Ray Serve {version('ray')}, LitServe {version('litserve')}, BentoML {bento}"


# The requests.


def _row() -> NDArray[np.float32]:
    """One row (64,) of the digits, with four digits after the decimal point."""
    from sklearn.datasets import load_digits

    row: NDArray[np.float32] = np.round(load_digits().data[0] / 16, 4).astype(np.float32)
    return row


def _json(path: str, headers: dict[str, str]) -> bytes:
    body = json.dumps({"inputs": [[round(float(value), 4) for value in _row()]]}).encode()
    return load.request(path, body, {**headers, "Content-Type": "application/json"})


def _inference(name: str, headers: dict[str, str]) -> bytes:
    """The row as raw bytes after a header in JSON; the response has raw bytes, too."""
    raw = _row().tobytes()
    tensor = {"name": "INPUT", "shape": [1, 64], "datatype": "FP32", "parameters": {"binary_data_size": len(raw)}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    kinds = {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(head))}
    return load.request(f"/v2/models/{name}/infer", head + raw, {**headers, **kinds})
