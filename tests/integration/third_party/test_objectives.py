"""Objectives of Optuna's users with the pruning callbacks of optuna-integration: LightGBM, XGBoost, Lightning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import optuna
import pytest

from tests.program_sweeps import PROGRAMS, run_program
from tests.running_service import RunningService


@pytest.mark.slow
@dataclass(frozen=True, slots=True)
class Case:
    """An objective, and a bound that no value of its metric satisfies."""

    folder: str
    function: str
    goal: str
    preload: tuple[str, ...]
    rounds: int
    bound: dict[str, float]

    def document(self, **more: Any) -> dict[str, Any]:
        code = str(PROGRAMS / self.folder)
        return {
            "name": self.function.partition("_")[0],
            "method": "tpe",
            "seed": 4,
            "metric": {"name": "score", "goal": self.goal},
            "run_cap": 2,
            "program": {"function": f"{self.function}:objective", "code": code, "preload": list(self.preload)},
            **more,
        }


SKLEARN = ("optuna", "sklearn.datasets", "sklearn.model_selection", "sklearn.metrics")
CASES = {
    "lightgbm": Case("boosting", "lightgbm_objective", "maximize", SKLEARN, 8, {"lower": 1.5}),
    "xgboost": Case("boosting", "xgboost_objective", "minimize", SKLEARN, 8, {"upper": 1e-9}),
    "lightning": Case("with_lightning", "objective", "minimize", ("lightning", "optuna"), 3, {"upper": 1e-9}),
}
FIRST = [
    pytest.param(case, id=name, marks=() if name == "xgboost" else pytest.mark.slow) for name, case in CASES.items()
]


@pytest.mark.parametrize("case", FIRST)
def test_every_round_is_reported_and_objective_returns_value(
    service: RunningService, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = run_program(service, case.document())
    assert [len(trial["metrics"]["score"]) for trial in trials] == [case.rounds] * 2
    assert len({trial["value"] for trial in trials}) == 2
    if case.folder == "boosting":
        monkeypatch.syspath_prepend(str(PROGRAMS / case.folder))
        objective = __import__(case.function).objective
        study = optuna.create_study(direction=optuna.study.StudyDirection[case.goal.upper()])
        study.enqueue_trial(trials[0]["params"])
        study.optimize(objective, n_trials=1)
        assert trials[0]["value"] == pytest.approx(study.best_value, rel=1e-6)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_callback_ends_pruned_trial(service: RunningService, case: Case) -> None:
    rule = {"type": "threshold", "min_iter": 1, **case.bound}
    trials = run_program(service, case.document(early_terminate=rule), ended="failed")  # since no trial has finished
    assert [trial["state"] for trial in trials] == ["pruned"] * 2
    assert all(len(trial["metrics"]["score"]) < case.rounds for trial in trials)
