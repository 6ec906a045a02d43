"""Figures of metrics on a real service: what is not finite, attempts that resume, and the command line."""

from __future__ import annotations

from pathlib import Path

from podium.api.client.client import Client
from tests.running_service import AuditedService, function_sweep, podium

CODE = """
import os

import torch


def objective(trial):
    model = torch.nn.Linear(1, 1)
    checkpoint = trial.resume()
    first = 0 if checkpoint is None else checkpoint.epoch + 1
    for step in range(first, 6):
        loss = 6.0 - step if checkpoint is None else 0.5 + step
        values = {"val/loss": loss, 'odd "name" x': float("nan") if step in (1, 4) else step, "always": float("inf")}
        trial.log(values, step)
        trial.report(float(step), step)
        if step == 2 and checkpoint is None:
            trial.save_checkpoint(model, None, step)
        if step == 4 and checkpoint is None:
            os._exit(9)
    return 1.0
"""


def figures(client: Client, sweep_id: int, *wanted: str) -> list[dict[str, float | int | None]]:
    return [trial["metrics"] for trial in client.trials(sweep_id, metrics=wanted)]


def test_resumed_trial_has_the_figures_of_what_it_became(service: AuditedService, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    client = service.client
    document = function_sweep(tmp_path, "train:objective", run_cap=2, retries={"user": 2})
    sweep = client.wait(client.submit(document)["id"], 120)
    assert sweep["state"] == "finished", sweep["reason"]
    trials = list(client.trials(sweep["id"]))
    assert [trial["attempt"] for trial in trials] == [2, 2]
    curve = client.metrics(trials[0]["id"])["val/loss"]
    assert curve == [[0, 6.0], [1, 5.0], [2, 4.0], [3, 3.5], [4, 4.5], [5, 5.5]]
    odd = 'odd "name" x'
    wanted = ("last(val/loss)", "min(val/loss)", "min_step(val/loss)", f"max({odd})", "last(always)")
    assert figures(client, sweep["id"], *wanted) == [
        {
            "last(val/loss)": 5.5, "min(val/loss)": 3.5, "min_step(val/loss)": 3, f"max({odd})": 5.0,
            "last(always)": None, "non_finite(always)": 6, f"non_finite({odd})": 2,
        }
    ] * 2  # fmt: skip
    for text, count in {
        "min(val/loss)<4": 2,
        "min(val/loss)<3": 0,
        'non_finite("odd \\"name\\" x")=2 last(val/loss)>5': 2,
        "running_s>0 queued_s>=0": 2,
    }.items():
        assert len(list(client.trials(sweep["id"], filter=text))) == count, text
    assert all((trial["running_s"] or 0) > 0 for trial in trials)
    shown = podium(
        "trial", "list", str(sweep["id"]), "--sort", "-min(val/loss)", "--columns", f"min(val/loss),max({odd})",
        "--data-dir", str(service.data.root),
    )  # fmt: skip
    assert "min(val/loss)" in shown.stdout and "5 (2x non-finite)" in shown.stdout, shown.stdout
