"""Data parallel training in one process: a tower of the network on each device, on the digits: `python towers.py`.

A thread computes each tower's part of the batch. The gradients are added on the first device, which updates the
parameters. Without GPUs, both towers are on the CPU.
"""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import torch
from sklearn.datasets import load_digits
from torch import nn


class Towers:
    """Copies of a network on several devices, which compute one batch together."""

    def __init__(self, model: nn.Module, devices: list[torch.device]) -> None:
        self.model = model.to(devices[0])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self._devices = devices
        self._copies = [copy.deepcopy(model).to(device) for device in devices]
        self._threads = ThreadPoolExecutor(len(devices))

    def step(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        """Update by the gradient of the mean loss over the batch, which is returned."""
        parts = [torch.tensor_split(each, len(self._devices)) for each in (inputs, targets)]
        losses = list(
            self._threads.map(self._tower, self._copies, self._devices, *parts, [len(inputs)] * len(parts[0]))
        )
        for parameter, *others in zip(*(each.parameters() for each in (self.model, *self._copies)), strict=True):
            gradients = [other.grad.to(parameter.device) for other in others if other.grad is not None]
            parameter.grad = torch.stack(gradients).sum(0)
        self.optimizer.step()
        return sum(losses)

    def _tower(
        self, tower: nn.Module, device: torch.device, inputs: torch.Tensor, targets: torch.Tensor, count: int
    ) -> float:
        """The share of the mean loss on one device; the gradient remains in the tower."""
        tower.load_state_dict(self.model.state_dict())
        tower.zero_grad()
        loss = nn.functional.cross_entropy(tower(inputs.to(device)), targets.to(device), reduction="sum") / count
        torch.autograd.backward(loss)
        return float(loss.detach())


def main() -> None:
    """Train, and print the accuracy."""
    gpus = [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    towers_on = gpus or [torch.device("cpu")] * 2
    digits = load_digits()
    inputs = torch.tensor(digits.data, dtype=torch.float32) / 16
    targets = torch.tensor(digits.target)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    towers = Towers(model, towers_on)
    loss = 0.0
    for _ in range(400):
        rows = torch.randint(1400, (128,))
        loss = towers.step(inputs[rows], targets[rows])
    correct = model(inputs[1400:].to(towers_on[0])).argmax(1).cpu() == targets[1400:]
    print(f"towers {len(towers_on)}, loss {loss:.3f}, accuracy {correct.float().mean():.3f}")


if __name__ == "__main__":
    main()
