"""Trains by FSDP2 as a script for torchrun does; nothing of Podium in it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
for layer in model:
    if isinstance(layer, nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(5):
    inputs = torch.randn(16, 8, generator=torch.Generator().manual_seed(step * 10 + rank))
    optimizer.zero_grad()
    loss = (model(inputs) ** 2).mean()
    loss.backward()
    optimizer.step()
if rank == 0:
    print(f"score {loss.item():.4f}", flush=True)
dist.barrier()
dist.destroy_process_group()
