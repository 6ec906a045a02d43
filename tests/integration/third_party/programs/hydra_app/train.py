"""python train.py optimizer.lr=0.05 model.degree=3"""

import hydra
import numpy as np
from features import polynomial
from omegaconf import DictConfig


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: DictConfig):
    x = np.linspace(-1, 1, 60)
    y = np.sin(3 * x)
    inputs = polynomial(x, cfg.model.degree)
    weights = np.zeros(inputs.shape[1])
    velocity = np.zeros_like(weights)
    for epoch in range(cfg.epochs):
        gradient = inputs.T @ (inputs @ weights - y) / len(x)
        velocity = cfg.optimizer.momentum * velocity - cfg.optimizer.lr * gradient
        weights += velocity
        print(f"epoch {epoch}: mse {np.mean((inputs @ weights - y) ** 2)}")


if __name__ == "__main__":
    main()
