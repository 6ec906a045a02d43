"""Five kinds of user networks on a real service: trained, selected, served in both modes, evaluated."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from podium.sweep.values.errors import PodiumError
from tests.running_service import RunningService, function_sweep
from tests.user_nets import nets
from tests.user_rig import NETS

KINDS = sorted(nets.SHAPES)
ROWS = np.random.default_rng(1).integers(0, 10, (5, 16)).astype(np.float32)


@pytest.fixture(scope="module")
def sweep_id(service: RunningService) -> int:
    """A finished sweep of five trials, one for each kind."""
    parameters = {"kind": {"values": KINDS}, "width": {"value": 4}}
    document = function_sweep(NETS, "nets:objective", method="grid", parameters=parameters, run_cap=5)
    sweep = service.client.submit(document)
    assert service.client.wait(sweep["id"], 120)["state"] == "finished"
    return sweep["id"]


def expected(service: RunningService, sweep_id: int, number: int, kind: str) -> np.ndarray:
    model = nets.build({"kind": kind, "width": 4})
    path = service.attempt(sweep_id, number).model
    model.load_state_dict({name: t for name, t in load_file(path).items() if not name.startswith("podium.")})
    rows = torch.from_numpy(ROWS).reshape(len(ROWS), *nets.SHAPES[kind])
    with torch.inference_mode():
        said: torch.Tensor = model.eval()(rows.long() if kind == "embedding" else rows)
        return said.softmax(dim=1).numpy()


@pytest.mark.parametrize("mode", ["in_graph", "between_graph"])
def test_member_predicts_as_it_does_alone(service: RunningService, sweep_id: int, mode: str) -> None:
    trials = {trial["id"]: trial for trial in service.client.trials(sweep_id)}
    name = f"kinds-{mode.replace('_', '-')}"
    built = service.client.build_ensemble(trial_ids=sorted(trials), mode=mode, name=name, deadline_ms=5000.0)
    assert service.client.wait_ensemble(built["id"], 120)["state"] == "ready"
    answer = service.client.predict(built["id"], ROWS)
    assert (answer["outcome"], answer["answered"]) == ("ok", 5)
    alone = [
        expected(service, sweep_id, trial["number"], trial["params"]["kind"]) for _, trial in sorted(trials.items())
    ]
    np.testing.assert_allclose(answer["outputs"], np.mean(alone, axis=0), atol=1e-5)
    service.client.retire_ensemble(built["id"])


def test_best_are_selected_by_saved_predictions_and_evaluated_on_custom_rows(
    service: RunningService, sweep_id: int
) -> None:
    built = service.client.build_ensemble(
        sweep_id=sweep_id, k=2, select="greedy", calibrate=True, mode="in_graph", name="best"
    )
    service.client.wait_ensemble(built["id"], 120)
    inputs, targets = nets.rows_and_targets("dropout", rows=40)
    with pytest.raises(PodiumError, match="loaded their own data"):
        service.client.evaluate(built["id"])
    found = service.client.evaluate(built["id"], inputs=inputs.numpy(), targets=targets.numpy())
    assert found["result"] is not None
    assert found["result"]["rows"] == 40 and 0 < found["result"]["ensemble"]["accuracy"] <= 1
