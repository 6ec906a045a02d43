"""Optuna's example of XGBoost with its pruning callback."""

import optuna
import xgboost as xgb
from optuna_integration import XGBoostPruningCallback
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

ROUNDS = 8


def objective(trial):
    data, target = load_breast_cancer(return_X_y=True)
    train_x, valid_x, train_y, valid_y = train_test_split(data, target, test_size=0.3, random_state=0)
    train_set = xgb.DMatrix(train_x, label=train_y)
    valid_set = xgb.DMatrix(valid_x, label=valid_y)
    param = {
        "objective": "binary:logistic",
        "eval_metric": "logloss",
        "seed": 0,
        "nthread": 1,
        "eta": trial.suggest_float("eta", 0.01, 0.5, log=True),
        "max_depth": trial.suggest_int("max_depth", 1, 6),
    }
    pruning_callback = XGBoostPruningCallback(trial, "validation-logloss")
    booster = xgb.train(
        param, train_set, ROUNDS, evals=[(valid_set, "validation")], callbacks=[pruning_callback], verbose_eval=False
    )
    return float(log_loss(valid_y, booster.predict(valid_set)))


if __name__ == "__main__":
    study = optuna.create_study(direction="minimize", pruner=optuna.pruners.MedianPruner())
    study.optimize(objective, n_trials=10)
    print(study.best_trial.params)
