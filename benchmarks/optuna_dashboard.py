"""The peer of row 9: a study in Optuna's SQLite storage, served by optuna-dashboard.

The rows are written directly to the tables that Optuna creates, since `study.add_trials` takes minutes. Parameters,
values, states and curves are those of Podium's sweep.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import optuna

from benchmarks.generated_sweep import CURVE_POINTS, PARAMETERS, curve_of, params_of, state_of, value_of
from podium.api.serve.ports import free_port

VERSION = "0.21.0"
FOLDER = "PODIUM_OPTUNA_DASHBOARD"  # the installation folder; by default a temporary one
_START_S = 120.0
_STATES = {"finished": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL"}


def installed(folder: Path) -> Path:
    """The folder of optuna-dashboard: from the environment, or `folder`, after installing it there."""
    if named := os.environ.get(FOLDER):
        return Path(named)
    packages = [f"optuna-dashboard=={VERSION}", "bottle"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *packages]
    subprocess.run(command, check=True)
    return folder


def fill(path: Path, count: int) -> None:
    """A study of `count` trials."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optuna.create_study(storage=f"sqlite:///{path}", study_name="many", direction="maximize")
    distributions = {name: _distribution(spec) for name, spec in PARAMETERS.items()}
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for number in range(count):
            _write(connection, number, distributions)


def _distribution(spec: dict[str, Any]) -> optuna.distributions.BaseDistribution:
    if "values" in spec:
        return optuna.distributions.CategoricalDistribution(spec["values"])
    if isinstance(spec["min"], int):
        return optuna.distributions.IntDistribution(spec["min"], spec["max"])
    return optuna.distributions.FloatDistribution(spec["min"], spec["max"], log=spec.get("log", False))


def _write(
    connection: sqlite3.Connection, number: int, distributions: dict[str, optuna.distributions.BaseDistribution]
) -> None:
    params, state, trial_id = params_of(number), state_of(number), number + 1
    at = datetime.fromtimestamp(1_780_000_000 + number, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    connection.execute("INSERT INTO trials VALUES (?, ?, 1, ?, ?, ?)", (trial_id, number, _STATES[state], at, at))
    connection.executemany(
        "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)",
        [
            (trial_id, name, distributions[name].to_internal_repr(value), _json(distributions[name]))
            for name, value in params.items()
        ],
    )
    if state == "finished":
        connection.execute(
            "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, 0, ?, 'FINITE')",
            (trial_id, value_of(params)),
        )
    connection.executemany(
        "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type)"
        " VALUES (?, ?, ?, 'FINITE')",
        [(trial_id, step, curve_of(params, step)) for step in range(1, CURVE_POINTS + 1)],
    )


_known: dict[int, str] = {}


def _json(distribution: optuna.distributions.BaseDistribution) -> str:
    """The JSON as Optuna writes it, which is stored for every trial."""
    if id(distribution) not in _known:
        _known[id(distribution)] = optuna.distributions.distribution_to_json(distribution)
    return _known[id(distribution)]


@contextlib.contextmanager
def serving(package: Path, path: Path) -> Iterator[str]:
    """Start optuna-dashboard with its own command; yields the address at which it serves this study."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, str(package / "bin" / "optuna-dashboard"), f"sqlite:///{path}", "--port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package), *os.environ.get("PYTHONPATH", "").split()])},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, url)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"optuna-dashboard ended with status {process.returncode}")
        with contextlib.suppress(httpx2.HTTPError, json.JSONDecodeError):
            if httpx2.get(f"{url}/api/studies", trust_env=False, timeout=60).json()["study_summaries"]:
                return
        time.sleep(0.1)
    raise RuntimeError(f"optuna-dashboard did not answer within {_START_S:g} s")
