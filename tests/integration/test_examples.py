"""The examples, run unchanged on one service; `.ci/run` runs script/sweep.yaml and the demo on digits as well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.repository import ROOT
from tests.running_service import RunningService, podium

EXAMPLES = ROOT / "examples"
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")  # where Debian's dataset-fashion-mnist puts it


def examples() -> Iterator[ParameterSet]:
    for file in sorted(EXAMPLES.rglob("*.yaml")):
        yield pytest.param(file, id=str(file.relative_to(EXAMPLES)))


@pytest.mark.slow
@pytest.mark.parametrize("file", list(examples()))
def test_example_finishes(service: RunningService, file: Path) -> None:
    if file.name == "fashion-mnist.yaml" and not FASHION_MNIST.is_dir():
        pytest.skip("dataset-fashion-mnist is not installed")
    result = podium("sweep", "run", str(file), "--data-dir", str(service.data.root), "--json", timeout_s=240)
    sweep = json.loads(result.stdout or "{}")
    why = {name: sweep.get(name) for name in ("state", "reason", "counts", "ensemble_error")}
    assert result.returncode == 0, f"{why} {result.stderr}"
    assert sweep["state"] == "finished"
    assert sweep["counts"].get("failed", 0) == 0
    assert sweep["top"][0]["value"] == sweep["best"]["value"]
