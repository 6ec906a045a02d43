"""A small regression as a LightningModule."""

import lightning as L
import torch
from torch import nn


class Regression(L.LightningModule):
    def __init__(self, lr, width):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_loss", nn.functional.mse_loss(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
