"""What a rank of an attempt on several devices has: `torchrun`'s variables, its devices, the store; trial process.

Rank 0 serves the store in this process, on a socket that it has bound itself, so that no other program can take its
port. The others start when it does. `TORCHELASTIC_USE_AGENT_STORE` tells torch that rank 0 of the program must not.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from podium.sweep.protocol.message_codec import DeviceView
from podium.sweep.runtime.cuda_devices import MIG
from podium.sweep.runtime.outgoing_network_interface import interface_towards
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.values.attempt_assignment import Assignment, GangPlace
from podium.sweep.values.errors import PinningError
from podium.sweep.values.slot_events import StoreOpened

if TYPE_CHECKING:
    import torch

# Of the environment of a rank; `torchrun` sets the same ones.
RANK_VARIABLES = (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
    "ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_USE_AGENT_STORE",
)  # fmt: skip

# Otherwise gloo takes the interface of the name of the host, which may be another one or none.
INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")


def prepare(assignment: Assignment, channel: Channel) -> Any:
    """Set the environment of a rank, and serve the store in rank 0; returns the store, which must be kept."""
    gang = assignment.gang
    if gang is None:
        return None
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(filter(None, gang.visible))
    if gang.size == 1 and len(gang.visible) > 1:  # one process for all devices
        return None
    port, store = gang.port, None
    if gang.rank == 0:
        store, port = _serve_store(gang)
        channel.send(StoreOpened(assignment.key, port))
    os.environ.update(rank_variables(gang, port))
    if (interface := interface_towards(gang.address)) is not None:
        for name in INTERFACE_VARIABLES:
            os.environ.setdefault(name, interface)
    return store


def rank_variables(gang: GangPlace, port: int) -> dict[str, str]:
    """`torchrun`'s variables of a rank."""
    values = {
        "RANK": gang.rank,
        "WORLD_SIZE": gang.size,
        "LOCAL_RANK": gang.local_rank,
        "LOCAL_WORLD_SIZE": gang.local_size,
        "GROUP_RANK": gang.node_rank,
        "GROUP_WORLD_SIZE": gang.nodes,
        "ROLE_RANK": gang.rank,
        "ROLE_WORLD_SIZE": gang.size,
        "ROLE_NAME": "default",
        "MASTER_ADDR": gang.address,
        "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": gang.run_id,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        "TORCHELASTIC_USE_AGENT_STORE": True,
    }
    return {name: str(values[name]) for name in RANK_VARIABLES}


def check_devices(gang: GangPlace, slot: DeviceView) -> torch.device:
    """The device of this rank, checked before user code runs. Raises `PinningError`."""
    import torch  # already imported by the fork server

    uuids = [uuid.removeprefix("GPU-") for uuid in gang.uuids if uuid is not None]
    if slot.uuid is None or not uuids:
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if count != len(uuids):
        raise PinningError(f"pinning failed: the process sees {count} GPUs, expected the {len(uuids)} of its gang")
    for number, uuid in enumerate(uuids):
        seen = str(torch.cuda.get_device_properties(number).uuid).removeprefix("GPU-")
        if seen != uuid and not uuid.startswith(MIG):  # PyTorch may know the UUID of the GPU of an instance
            raise PinningError(f"pinning failed: GPU {number} of the process is {seen}, but its gang has {uuid}")
    return torch.device("cuda", gang.local_rank)


def _serve_store(gang: GangPlace) -> tuple[Any, int]:
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    listening = socket.create_server((gang.address, 0), backlog=max(128, 2 * gang.size))
    port: int = listening.getsockname()[1]
    store = TCPStore(
        gang.address, port, gang.size, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
    )
    return store, port
