"""python train.py, or an agent of a W&B sweep runs it; the shape of wandb/examples."""

import wandb
from net import accuracy_after

config_defaults = {"lr": 0.5, "width": 8, "epochs": 3}


def train():
    run = wandb.init(project="blobs", config=config_defaults)
    config = wandb.config
    best = 0.0
    for epoch in range(config.epochs):
        accuracy = accuracy_after(epoch, config.lr, config.width)
        best = max(best, accuracy)
        wandb.log({"accuracy": accuracy, "loss": 1 - accuracy}, step=epoch)
    wandb.summary["best_accuracy"] = best
    run.finish()


if __name__ == "__main__":
    train()
