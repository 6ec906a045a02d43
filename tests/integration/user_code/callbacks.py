"""Objectives with the callbacks of optuna-integration, unchanged but for their size."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna


def _rows() -> tuple[Any, Any, Any, Any]:
    chance = np.random.default_rng(0)
    x = chance.normal(size=(200, 4))
    y = (x[:, 0] + 0.1 * chance.normal(size=200) > 0).astype(int)
    return x[:150], y[:150], x[150:], y[150:]


def with_lightgbm(trial: Any) -> float:
    import lightgbm as lgb
    from optuna_integration import LightGBMPruningCallback

    x, y, x_valid, y_valid = _rows()
    train = lgb.Dataset(x, label=y)
    valid = lgb.Dataset(x_valid, label=y_valid, reference=train)
    params = {
        "objective": "binary",
        "metric": "auc",
        "verbosity": -1,
        "num_threads": 1,
        "learning_rate": trial.suggest_float("x", 0.0, 1.0),
    }
    callback = LightGBMPruningCallback(trial, "auc")
    model = lgb.train(params, train, num_boost_round=5, valid_sets=[valid], callbacks=[callback])
    return float(model.best_score["valid_0"]["auc"])


def with_xgboost(trial: Any) -> float:
    import xgboost as xgb
    from optuna_integration import XGBoostPruningCallback

    x, y, x_valid, y_valid = _rows()
    train, valid = xgb.DMatrix(x, label=y), xgb.DMatrix(x_valid, label=y_valid)
    params = {
        "objective": "binary:logistic",
        "eval_metric": "auc",
        "nthread": 1,
        "eta": trial.suggest_float("x", 0.0, 1.0),
    }
    found: dict[str, Any] = {}
    xgb.train(
        params,
        train,
        num_boost_round=5,
        evals=[(valid, "validation")],
        evals_result=found,
        verbose_eval=False,
        callbacks=[XGBoostPruningCallback(trial, "validation-auc")],
    )
    return float(found["validation"]["auc"][-1])


def with_lightning(trial: Any) -> float:
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from optuna_integration import PyTorchLightningPruningCallback
    from torch.utils.data import DataLoader, TensorDataset

    class Net(LightningModule):  # type: ignore[misc]
        def __init__(self, lr: float) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
            self.lr = lr

        def training_step(self, batch: Any) -> Any:
            x, y = batch
            return torch.nn.functional.binary_cross_entropy_with_logits(self.layer(x)[:, 0], y)

        def validation_step(self, batch: Any) -> None:
            x, y = batch
            self.log("val_acc", ((self.layer(x)[:, 0] > 0) == (y > 0.5)).float().mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=self.lr)

    x, y, x_valid, y_valid = (torch.tensor(each, dtype=torch.float32) for each in _rows())
    callback = PyTorchLightningPruningCallback(trial, monitor="val_acc")
    trainer = Trainer(
        max_epochs=3, callbacks=[callback], logger=False, accelerator="cpu", devices=1,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(
        Net(trial.suggest_float("x", 0.0, 1.0)),
        DataLoader(TensorDataset(x, y), batch_size=50),
        DataLoader(TensorDataset(x_valid, y_valid), batch_size=50),
    )
    callback.check_pruned()
    return float(trainer.callback_metrics["val_acc"])


class KerasLikeCallback:
    """`optuna_integration.KerasPruningCallback` without Keras: the same attributes, in the same order."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial

    def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
        self._trial.report(float(logs["val_accuracy"]), step=epoch)
        if self._trial.should_prune():
            raise optuna.TrialPruned(f"Trial was pruned at epoch {epoch}.")


def with_keras_callback(trial: Any) -> float:
    callback = KerasLikeCallback(trial)
    for epoch in range(5):
        callback.on_epoch_end(epoch, {"val_accuracy": 0.1 * epoch})
    return 0.5


def notes_in_the_storage(trial: Any) -> float:
    """As `track_in_mlflow` and the W&B callback of optuna-integration do."""
    trial.storage.set_trial_system_attr(trial._trial_id, "run_id", "abc")
    assert trial.system_attrs["run_id"] == "abc"
    assert not trial.study._is_multi_objective()
    assert trial.study._study_id == 1
    return 0.5


def reads_its_study(trial: Any) -> float:
    study = trial.study
    assert study.direction is optuna.study.StudyDirection.MAXIMIZE
    assert study.directions == [optuna.study.StudyDirection.MAXIMIZE]
    assert study.study_name == "third party"
    complete = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    print([(t.number, t.value, t.params, t.user_attrs) for t in complete])
    assert study.trials[-1].state is optuna.trial.TrialState.RUNNING
    assert complete[0].intermediate_values == {0: 0.5, 1: 0.75}
    return float(study.best_value)


def has_no_best_yet(trial: Any) -> float:
    try:
        return float(trial.study.best_value)
    except ValueError as error:
        print(error)
        return 0.25


def stops_its_study(trial: Any) -> float:
    trial.study.stop()
    trial.study.stop()
    return 0.5


def optimizes_its_study(trial: Any) -> None:
    trial.study.optimize(print, n_trials=3)
