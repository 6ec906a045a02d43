"""Row 9, sharding variables over parameter servers: two ranks serve half of the parameters each.

`torchrun --nproc-per-node 2 parameter_servers.py`
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

UPDATES = 400


def main() -> None:
    """Train with one server and with two, and let rank 0 print the traffic of its own server."""
    digits = load_digits()
    inputs, targets = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    with parallel.join() as group:
        for servers in (1, group.size):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            rows = torch.Generator().manual_seed(group.rank)
            with parallel.Asynchronous(group, model, optimizer, servers=servers, max_staleness=8) as trainer:
                while trainer.global_step < UPDATES:
                    some = torch.randint(1400, (32,), generator=rows)
                    x, y = inputs[some], targets[some]
                    trainer.step(lambda x=x, y=y: nn.functional.cross_entropy(trainer.model(x), y))
            correct = (model(inputs[1400:]).argmax(1) == targets[1400:]).float().mean()
            values = sum(parameter.numel() for parameter in model.parameters())
            if group.rank == 0:
                share = values / servers
                print(f"servers {servers}: about {share:.0f} of {values} values each, accuracy {correct:.3f}")


if __name__ == "__main__":
    main()
