"""A LightningModule, and objectives that train it; Lightning's own output and files are disabled."""

from __future__ import annotations

import sys
from typing import Any

PRELOADED = "lightning" in sys.modules

import torch  # noqa: E402
from lightning.pytorch import LightningModule, Trainer  # noqa: E402

from podium import PodiumCallback  # noqa: E402


class Line(LightningModule):  # type: ignore[misc]
    """A line through points."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        loss: torch.Tensor = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        self.log("score", loss)
        self.log("error", loss.sqrt())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.05)


def objective(trial: Any, monitor: str = "score") -> float:
    x = torch.linspace(-1, 1, 64)[:, None]
    batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 2 * x), batch_size=16)
    trainer = Trainer(
        max_epochs=4,
        accelerator="cpu",
        callbacks=[PodiumCallback(trial, monitor)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Line(), batches, batches)
    assert PRELOADED
    return float(trainer.callback_metrics["score"])


def monitors_nothing(trial: Any) -> float:
    return objective(trial, "accuracy")
