"""An ensemble of a real sweep: Triton's and KServe's clients agree with Podium's own client.

KServe needs its own environment, since it requires older versions of psutil, protobuf and pandas than Podium: `make
kserve` creates it and runs its test, which is skipped unless `PODIUM_KSERVE_PYTHON` is set.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as triton
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from tritonclient.utils import triton_to_np_dtype

from podium.api.client.ensemble_responses import Prediction
from tests.program_sweeps import PROGRAMS, WAIT_S, run_program
from tests.running_service import RunningService

KSERVE = "PODIUM_KSERVE_PYTHON"
ROWS: NDArray[np.float64] = load_digits(return_X_y=True)[0][:5]  # integers from 0 to 16
DIGITS = {
    "name": "to-serve",
    "method": "random",
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {"lr": {"min": 1e-3, "max": 1e-2}, "hidden": {"value": 16}, "epochs": {"value": 1}},
    "run_cap": 2,
    "program": {"model": "mlp", "data": {"name": "digits"}},
}


@pytest.fixture(scope="module")
def asked(service: RunningService) -> Prediction:
    """The response of Podium's client for the rows; asserts that no member is late."""
    trials = run_program(service, DIGITS)
    ids = [trial["id"] for trial in trials]
    built = service.client.build_ensemble(trial_ids=ids, mode="in_graph", deadline_ms=10_000.0)
    service.client.wait_ensemble(built["id"], WAIT_S)
    return service.client.predict(built["id"], ROWS)


@pytest.fixture(scope="module")
def token(service: RunningService) -> str:
    created: str = service.client.create_token("inference", "viewer")["token"]
    return created


def gateway(service: RunningService) -> str:
    """The gateway's address: host and port."""
    about = json.loads(service.data.service_file.read_text())
    return str(about["gateway_url"]).partition("://")[2]


@pytest.mark.parametrize("datatype", ["FP64", "FP32", "FP16", "BF16", "INT64", "UINT8"])
def test_triton_client_agrees_with_podium_client(
    service: RunningService, asked: Prediction, token: str, datatype: str
) -> None:
    rows = triton.InferInput("INPUT", ROWS.shape, datatype)
    rows.set_data_from_numpy(ROWS.astype(triton_to_np_dtype(datatype)))
    with triton.InferenceServerClient(gateway(service)) as client:
        answer = client.infer(asked["ensemble"], [rows], headers={"Authorization": f"Bearer {token}"})
    np.testing.assert_array_equal(answer.as_numpy("PROBABILITIES"), np.array(asked["outputs"], np.float32))
    assert [label.decode() for label in answer.as_numpy("LABEL")] == asked["labels"]


@pytest.mark.skipif(KSERVE not in os.environ, reason=f"{KSERVE} names no Python with kserve; `make kserve` does")
def test_kserve_client_agrees_with_podium_client(service: RunningService, asked: Prediction, token: str) -> None:
    done = subprocess.run(
        [
            str(Path(os.environ[KSERVE]).absolute()), str(PROGRAMS / "clients" / "kserve_client.py"),
            f"http://{gateway(service)}", asked["ensemble"], token,
        ],
        input=json.dumps(ROWS.tolist()), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    ready = {name: answers.pop(name) for name in ("live", "ready", "model_ready", "absent_ready")}
    assert ready == {"live": True, "ready": True, "model_ready": True, "absent_ready": False}
    assert "INPUT: shape must be [rows, 64] with at least one row, not [1, 2]" in answers.pop("error")
    assert len(answers) == 8
    for form, answer in answers.items():
        found = np.array(answer["probabilities"], np.float32)
        np.testing.assert_array_equal(found, np.array(asked["outputs"], np.float32), err_msg=form)
        assert answer["labels"] == asked["labels"], form
