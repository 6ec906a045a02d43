"""A population on several machines: checkpoints of other trials travel, also by an object store."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Network

SCRIPT = """
import argparse
import json
import os
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
lr = parser.parse_args().lr
before, first = [], 1
if resume := os.environ.get("PODIUM_RESUME"):
    before = json.loads((Path(resume) / "state.json").read_text())
    first = int(os.environ["PODIUM_RESUME_STEP"]) + 1
    assert len(before) == first - 1
for step in range(first, min(8, int(os.environ["PODIUM_UNTIL_STEP"])) + 1):
    before.append(lr)
    print("score", sum(before))
(Path(os.environ["PODIUM_CHECKPOINT"]) / "state.json").write_text(json.dumps(before))
"""
FUNCTION = """
import torch

def train(trial):
    model = torch.nn.Linear(1, 1)
    first, total = 1, 0.0
    if (checkpoint := trial.resume()) is not None:
        checkpoint.load_into(model)
        first, total = checkpoint.epoch + 1, checkpoint.extra
    for step in range(first, 9):
        total += trial.params["lr"]
        trial.report(total, step)
        trial.save_checkpoint(model, None, step, extra=total)
    return total
"""
PROGRAMS: dict[str, dict[str, Any]] = {
    "function": {"function": "train:train"},
    "script": {"command": ["python", "script.py", "--lr", "${lr}"], "metrics": {"score": "auto"}},
}


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="r-") as made:
        code = Path(made) / "code"
        code.mkdir()
        (code / "script.py").write_text(SCRIPT)
        (code / "train.py").write_text(FUNCTION)
        yield Path(made)


@pytest.fixture(scope="module", params=["head", "object store"])
def cluster(request: pytest.FixtureRequest, folder: Path) -> Iterator[Cluster]:
    """A head and a node with files of its own, each with one slot; the node sends files to the head, or to a store."""
    url = f"file://{folder / 'objects'}" if request.param == "object store" else ""
    with Network(folder / request.param[:1]) as network:
        started = Cluster(network, folder / request.param[:1], head_slots=1, artifact_url=url)
        started.join_by_command("n1", slots=1)
        yield started
        started.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROGRAMS)
def test_population_trains_on_both_machines(cluster: Cluster, folder: Path, kind: str) -> None:
    document = {
        "name": "population",
        "method": {"type": "pbt", "population": 4, "interval": {"step": 2}},
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"lr": {"min": 0.001, "max": 1.0, "log": True}},
        "program": {**PROGRAMS[kind], "code": str(folder / "code")},
    }
    sweep_id = cluster.submit(document, folder)
    cluster.wait_until("the sweep has ended", lambda: cluster.state(sweep_id) in ("finished", "failed"), 150.0)
    assert cluster.state(sweep_id) == "finished"
    attempts = cluster.attempts(sweep_id)
    assert {attempt.device for attempt in attempts} == {"cpu-0", "n1:cpu-0"}
    moved = {attempt.trial for attempt in attempts if attempt.device == "n1:cpu-0"}
    assert moved & {attempt.trial for attempt in attempts if attempt.device == "cpu-0"}, "no trial changed its machine"
    intervals = cluster.rows(
        "SELECT i.number, i.step, i.donor_id FROM intervals i JOIN trials t ON t.id = i.trial_id "
        f"WHERE t.sweep_id = {sweep_id} AND i.ended_at IS NOT NULL"
    )
    assert {step for _, step, _ in intervals} == {2, 4, 6, 8}
    assert any(donor is not None for _, _, donor in intervals)
