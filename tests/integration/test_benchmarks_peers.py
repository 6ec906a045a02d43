"""LitServe and BentoML as the benchmarks start them; `make test-extras` installs both."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psutil
import pytest

from benchmarks import ensemble_servers
from benchmarks.ensemble_servers import BENTOML, Served
from benchmarks.peer_networks import OneNetwork
from tests.networks import ROWS, saved

pytestmark = pytest.mark.timeout(200)
CLIENTS = 16


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("models")
    return [saved(folder, seed).path for seed in range(3)]


@pytest.fixture(scope="module", params=["litserve", "bentoml"])
def served(request: pytest.FixtureRequest, models: list[str]) -> Iterator[Served]:
    with peer(request.param, models) as running:
        yield running
        family = psutil.Process(running.root).children(recursive=True)
    assert not any(process.is_running() for process in family)


def peer(name: str, models: list[str]) -> AbstractContextManager[Served]:
    if name == "litserve":
        pytest.importorskip("litserve", exc_type=ImportError)  # needs the extra `bench`
        return ensemble_servers.litserve(models)
    if not BENTOML.exists():
        pytest.skip("BentoML has an environment of its own, which `make test-extras` installs")
    return ensemble_servers.bentoml(models)


def outputs(answer: Any) -> Any:
    """The probabilities in a response of LitServe or of BentoML."""
    return answer["outputs"] if isinstance(answer, dict) else answer


def test_each_request_of_a_batch_gets_its_own_outputs(served: Served, models: list[str]) -> None:
    expected = np.mean([OneNetwork(path).predict(ROWS) for path in models], axis=0)
    url, ready = f"http://127.0.0.1:{served.port}/predict", threading.Barrier(CLIENTS)

    def ask(position: int) -> Any:
        with httpx2.Client() as client:
            ready.wait()
            response = client.post(url, json={"inputs": [ROWS[position].tolist()]})
        assert response.status_code == httpx2.codes.OK
        return outputs(json.loads(response.content))

    with ThreadPoolExecutor(CLIENTS) as threads:
        answers = list(threads.map(ask, range(CLIENTS)))
    np.testing.assert_allclose(np.concatenate(answers), expected[:CLIENTS], atol=1e-6)


def test_prepared_request_is_answered_and_its_cost_is_attributed(served: Served) -> None:
    answers = served.ask(4, 0.5)
    assert answers.heard.good == answers.heard.answers
    assert answers.used_s["worker"] > 0
    assert answers.processor_us == pytest.approx(1e6 * sum(answers.used_s.values()) / len(answers.heard.good))
    assert "worker" in answers.cores() and "load" in answers.cores()


def test_server_that_ends_at_once_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("litserve", exc_type=ImportError)  # needs the extra `bench`
    with (
        pytest.raises(RuntimeError, match="was not healthy"),
        ensemble_servers.litserve([str(tmp_path / "missing.safetensors")]),
    ):
        pass
