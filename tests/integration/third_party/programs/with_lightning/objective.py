"""Optuna's example of PyTorch Lightning with its pruning callback."""

import lightning as L
import torch
from module import Regression
from optuna_integration import PyTorchLightningPruningCallback
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 3


def loader():
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    return DataLoader(TensorDataset(x, torch.sin(3 * x)), batch_size=32)


def objective(trial):
    L.seed_everything(0)
    model = Regression(lr=trial.suggest_float("lr", 1e-3, 1e-1, log=True), width=trial.suggest_int("width", 2, 16))
    trainer = L.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[PyTorchLightningPruningCallback(trial, monitor="val_loss")],
    )
    trainer.fit(model, loader(), loader())
    return trainer.callback_metrics["val_loss"].item()
