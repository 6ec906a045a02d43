"""The peer of rows 9 and 22: a study in Optuna's RDB storage, served by optuna-dashboard.

The rows are written directly to the tables that Optuna creates, since `study.add_trials` takes minutes. Parameters,
values, states and curves are those of Podium's sweep.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import optuna
from sqlalchemy import MetaData, create_engine, insert

from benchmarks.databases import optuna_storage
from benchmarks.generated_sweep import CURVE_POINTS, PARAMETERS, curve_of, params_of, state_of, value_of
from podium.api.serve.ports import free_port

VERSION = "0.21.0"
FOLDER = "PODIUM_OPTUNA_DASHBOARD"  # the installation folder; by default a temporary one
_START_S = 120.0
_BATCH = 2_000  # trials in a transaction
_STATES = {"finished": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL"}


def installed(folder: Path) -> Path:
    """The folder of optuna-dashboard: from the environment, or `folder`, after installing it there."""
    if named := os.environ.get(FOLDER):
        return Path(named)
    packages = [f"optuna-dashboard=={VERSION}", "bottle"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *packages]
    subprocess.run(command, check=True)
    return folder


def fill(storage: str, count: int) -> None:
    """A study of `count` trials in an empty database; `storage`: its URL."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with optuna_storage(storage) as empty:
        optuna.create_study(storage=empty, study_name="many", direction="maximize")
    distributions = {name: _distribution(spec) for name, spec in PARAMETERS.items()}
    engine, tables = create_engine(storage), MetaData()
    tables.reflect(engine)
    for first in range(0, count, _BATCH):
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for number in range(first, min(first + _BATCH, count)):
            for table, added in _rows(number, distributions).items():
                rows[table] += added
        with engine.begin() as connection:
            for table, added in rows.items():
                connection.execute(insert(tables.tables[table]), added)
    engine.dispose()


def _distribution(spec: dict[str, Any]) -> optuna.distributions.BaseDistribution:
    if "values" in spec:
        return optuna.distributions.CategoricalDistribution(spec["values"])
    if isinstance(spec["min"], int):
        return optuna.distributions.IntDistribution(spec["min"], spec["max"])
    return optuna.distributions.FloatDistribution(spec["min"], spec["max"], log=spec.get("log", False))


def _rows(
    number: int, distributions: dict[str, optuna.distributions.BaseDistribution]
) -> dict[str, list[dict[str, Any]]]:
    """The rows of a trial by table, those first to which others refer."""
    params, state, trial_id = params_of(number), state_of(number), number + 1
    at = datetime.fromtimestamp(1_780_000_000 + number, UTC).replace(tzinfo=None)
    trial = {"trial_id": trial_id, "number": number, "study_id": 1, "state": _STATES[state]}
    result = {"trial_id": trial_id, "objective": 0, "value": value_of(params), "value_type": "FINITE"}
    return {
        "trials": [{**trial, "datetime_start": at, "datetime_complete": at}],
        "trial_params": [
            {
                "trial_id": trial_id,
                "param_name": name,
                "param_value": distributions[name].to_internal_repr(value),
                "distribution_json": _json(distributions[name]),
            }
            for name, value in params.items()
        ],
        "trial_values": [result] if state == "finished" else [],
        "trial_intermediate_values": [
            {
                "trial_id": trial_id,
                "step": step,
                "intermediate_value": curve_of(params, step),
                "intermediate_value_type": "FINITE",
            }
            for step in range(1, CURVE_POINTS + 1)
        ],
    }


_known: dict[int, str] = {}


def _json(distribution: optuna.distributions.BaseDistribution) -> str:
    """The JSON as Optuna writes it, which is stored for every trial."""
    if id(distribution) not in _known:
        _known[id(distribution)] = optuna.distributions.distribution_to_json(distribution)
    return _known[id(distribution)]


@contextlib.contextmanager
def serving(package: Path, storage: str) -> Iterator[str]:
    """Start optuna-dashboard with its own command; yields the address at which it serves the study of this URL."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, str(package / "bin" / "optuna-dashboard"), storage, "--port", str(port)],
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
