"""Trains by DistributedDataParallel as a script for torchrun does; nothing of Podium in it."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--x", type=float)
lr = parser.parse_args().lr or 0.1
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
assert (rank, size) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=lr)
rows = torch.Generator().manual_seed(rank)
for _ in range(20):
    inputs = torch.randn(16, 4, generator=rows)
    optimizer.zero_grad()
    loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.step()
norms = torch.tensor([model.module.weight.norm().item()])
everyone = [torch.zeros(1) for _ in range(size)]
dist.all_gather(everyone, norms)
assert all(torch.equal(each, norms) for each in everyone), everyone
print(f"rank {rank} of {size} on local rank {os.environ['LOCAL_RANK']} trained", flush=True)
if rank == 0:
    print(f"score {1 / (1 + loss.item()):.4f}", flush=True)
dist.barrier()
dist.destroy_process_group()
