"""Optuna's example of LightGBM with its pruning callback."""

import lightgbm as lgb
import optuna
from optuna_integration import LightGBMPruningCallback
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

ROUNDS = 8


def objective(trial):
    data, target = load_breast_cancer(return_X_y=True)
    train_x, valid_x, train_y, valid_y = train_test_split(data, target, test_size=0.3, random_state=0)
    train_set = lgb.Dataset(train_x, label=train_y)
    valid_set = lgb.Dataset(valid_x, label=valid_y)
    param = {
        "objective": "binary",
        "metric": "auc",
        "verbosity": -1,
        "seed": 0,
        "num_threads": 1,
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 2, 32),
    }
    pruning_callback = LightGBMPruningCallback(trial, "auc")
    booster = lgb.train(param, train_set, ROUNDS, valid_sets=[valid_set], callbacks=[pruning_callback])
    return float(roc_auc_score(valid_y, booster.predict(valid_x)))


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner())
    study.optimize(objective, n_trials=10)
    print(study.best_trial.params)
