"""The examples of `podium.parallel`, run unchanged, and the towers against one device."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
from torch import nn

from tests.ranks import run_ranks
from tests.repository import ROOT, loaded

EXAMPLES = ROOT / "examples" / "parallel"
LEARNED = 0.7  # accuracy; guessing has 0.1


def accuracy(output: str) -> float:
    found = re.search(r"accuracy ([\d.]+)", output)
    assert found is not None, output
    return float(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["sync", "spares", "async"])
def test_replicas_learn_the_digits(mode: str) -> None:
    (first, *others) = run_ranks([EXAMPLES / "data_parallel.py", mode, "--steps", "200"], 2)
    assert accuracy(first.output) > LEARNED
    assert [each.output for each in others] == [""]


@pytest.mark.slow
def test_a_pipeline_learns_the_digits() -> None:
    (first, _) = run_ranks([EXAMPLES / "pipeline.py"], 2)
    assert first.output.startswith("stages 2, ") and accuracy(first.output) > LEARNED


@pytest.mark.slow
def test_towers_learn_the_digits() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "towers.py"], capture_output=True, text=True, timeout=120, check=True
    )
    assert accuracy(done.stdout) > LEARNED


def test_towers_equal_one_device() -> None:
    """Also if the rows cannot be divided evenly."""
    example = loaded(EXAMPLES / "towers.py")
    torch.manual_seed(2)
    alone, model = (nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double() for _ in range(2))
    model.load_state_dict(alone.state_dict())
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    towers = example.Towers(model, [torch.device("cpu")] * 3)
    for _ in range(4):
        inputs, targets = torch.randn(10, 6, dtype=torch.float64), torch.randint(3, (10,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(alone(inputs), targets)
        torch.autograd.backward(loss)
        optimizer.step()
        assert towers.step(inputs, targets) == pytest.approx(float(loss.detach()))
    torch.testing.assert_close(dict(model.state_dict()), dict(alone.state_dict()), rtol=0, atol=1e-12)
