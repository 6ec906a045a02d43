"""Joins the ranks of a program by torch's process group; the user's process."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import HashStore, PrefixStore, Store, TCPStore  # type: ignore[attr-defined]

from podium.sweep.parallel import rank_environment
from podium.sweep.parallel.rank_environment import RankEnvironment
from podium.sweep.values.errors import ParallelError, RankLostError

JOIN_S = 300.0
OPERATION_S = 1800.0
HELD_S = 1.0  # see `_release_later`
ENDED_S = 0.5  # how long a rank waits for the others' reasons of their end

_LOST_WORDS = (
    "gloo/transport",
    "Application timeout caused pair closure",
    "Connection closed by peer",
    "Connection closed by remote peer",
    "Connection reset by peer",
    "Broken pipe",
    "ncclRemoteError",
    "Watchdog caught collective operation timeout",
)
_OWN_WORDS = ("gloo/transport/tcp/device",)  # no address of this machine, which is gloo's error as well
_STORES: dict[RankEnvironment, TCPStore] = {}  # others may read that of rank 0 after its block, and it may join again
_JOINS: Counter[RankEnvironment] = Counter()  # how often this process has joined: each block has keys of its own


class Group:
    """The ranks that train together, as one of them sees it. `parallel.join` returns it.

    Attributes:
        rank: The number of this rank, 0 to `size - 1`.
        size: The number of ranks.
        local_rank: The number of this rank on its machine.
        device: The GPU of this rank, or the CPU.
        timeout_s: How long one operation waits for another rank.
    """

    def __init__(
        self, environment: RankEnvironment | None, device: torch.device, store: Store, *, timeout_s: float
    ) -> None:
        self.rank = environment.rank if environment else 0
        self.size = environment.size if environment else 1
        self.local_rank = environment.local_rank if environment else 0
        self.device = device
        self.timeout_s = timeout_s
        self._store = store

    def barrier(self) -> None:
        """Wait until every rank calls this method."""
        dist.barrier()

    def mean(self, value: float | torch.Tensor) -> float:
        """The mean of a number over all ranks; every rank calls this method."""
        total = torch.tensor([float(value)], dtype=torch.float64)
        self.sum(total)
        return float(total) / self.size

    def sum(self, values: torch.Tensor) -> None:
        """Replace a tensor on the CPU by its sum over all ranks; every rank calls this method."""
        dist.all_reduce(values)

    def reason_of_end(self, rank: int) -> str:
        """With what error a rank ended, if it reported one."""
        try:
            if not self._store.check([f"ended/{rank}"]):
                return ""
            return f"rank {rank} ended with {self._store.get(f'ended/{rank}').decode()}"
        except RuntimeError:
            return ""

    def report_end(self, error: BaseException) -> None:
        """Store with what error this rank ends, for those that lose their connection to it."""
        with suppress(RuntimeError):
            self._store.set(f"ended/{self.rank}", f"{type(error).__name__}: {error}"[:1000])

    def _loss(self, error: BaseException) -> RankLostError | None:
        """What happened to the other ranks, if the error is that of a broken connection."""
        if not _is_of_connection(error):
            return None
        ended = self._ended() or "no rank reported an error before it ended; see the output of the other ranks"
        return RankLostError(f"rank {self.rank} lost another rank, or waited too long for it: {ended}")

    def _ended(self) -> str:
        others = [rank for rank in range(self.size) if rank != self.rank]
        deadline = time.monotonic() + ENDED_S
        try:
            while not any(self._store.check([f"ended/{rank}"]) for rank in others) and time.monotonic() < deadline:
                time.sleep(0.05)
            return "; ".join(reason for rank in others if (reason := self.reason_of_end(rank)))
        except RuntimeError:
            return "rank 0, or the launcher with the store of the ranks, ended"


def _is_of_connection(error: BaseException) -> bool:
    """Other errors of torch, such as of two ranks with one GPU, are errors of this rank."""
    if isinstance(error, dist.DistNetworkError | dist.DistStoreError):
        return True
    text = str(error) if isinstance(error, RuntimeError) else ""
    return any(words in text for words in _LOST_WORDS) and not any(words in text for words in _OWN_WORDS)


def copy_from_first(tensors: Sequence[torch.Tensor]) -> None:
    """Replace tensors by those of rank 0; every rank calls this function."""
    for tensor in tensors:
        on_cpu = tensor.detach().cpu()
        dist.broadcast(on_cpu, src=0)
        if tensor.device.type != "cpu":
            with torch.no_grad():
                tensor.copy_(on_cpu)


@contextmanager
def join(*, join_timeout_s: float = JOIN_S, timeout_s: float = OPERATION_S) -> Iterator[Group]:
    """Join the ranks of this program, in a `with` block; the block ends on all ranks together.

    Reads the environment of `torchrun`: `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `MASTER_ADDR`, `MASTER_PORT`. Without
    `RANK` and `WORLD_SIZE` the process is a group of one, so that the same program also runs by itself, or as an
    ordinary trial. Uses NCCL between GPUs and gloo otherwise.

    Args:
        join_timeout_s: How long to wait until every rank has called `join`, and can be reached.
        timeout_s: How long one operation waits for another rank, and so the longest time between two steps
            of a rank, and the longest warm-up.

    Raises:
        ParallelError: The environment is incomplete, a rank did not join in time, or two ranks would share a GPU.
        RankLostError: A rank ended before the block ended on all ranks, or did not answer within `timeout_s`.
    """
    if dist.is_initialized():
        raise ParallelError("torch.distributed is initialized already; use join() instead of init_process_group()")
    environment = rank_environment.read(os.environ)
    device = _device(environment)  # before the others know this rank: an error here is that of a rank that did not join
    deadline = time.monotonic() + join_timeout_s
    store = _met(environment, deadline, join_timeout_s) if environment else HashStore()
    group = Group(environment, device, store, timeout_s=timeout_s)
    nccl = device.type == "cuda" and dist.is_nccl_available()
    try:
        _connect(group, "cpu:gloo,cuda:nccl" if nccl else "gloo", store, deadline)
        yield group
        # Of all collectives, the last one must be without tensors: a thread of gloo that drops a tensor while the
        # interpreter ends aborts the process.
        group.barrier()
    except BaseException as error:
        lost = group._loss(error)
        if lost is None and not isinstance(error, RankLostError):  # the ranks report causes, not consequences
            group.report_end(error)
        if nccl and dist.group.WORLD is not None:
            with suppress(RuntimeError):
                dist.group.WORLD.abort()  # destroying waits for operations that another rank may never complete
        if lost is not None:
            raise lost from error
        raise
    finally:
        if dist.group.WORLD is not None:
            _release_later(dist.group.WORLD)
            dist.destroy_process_group()


def _release_later(process_group: dist.ProcessGroup) -> None:
    """Keep a process group for a second, in which gloo's threads drop the tensors of the last operation.

    They may need the GIL for that. The reducer of a `DistributedDataParallel` that had the last reference would wait
    for them with the GIL: a deadlock, see https://github.com/pytorch/pytorch/issues/56297. Not longer: after an error,
    the other ranks notice by the end of this group that this one has left.
    """
    held = threading.Timer(HELD_S, lambda _: None, [process_group])
    held.daemon = True
    held.start()


def _connect(group: Group, backend: str, store: Store, deadline: float) -> None:
    """Open the process group, whose timeout cannot be changed later.

    A group of shorter timeout before it shows that all ranks can be reached, within the time to join.
    """

    def open_group(backend: str, name: str, timeout_s: float) -> None:
        prefixed, timeout = PrefixStore(name, store), timedelta(seconds=timeout_s)
        dist.init_process_group(backend, store=prefixed, rank=group.rank, world_size=group.size, timeout=timeout)

    try:
        if group.size > 1:
            open_group("gloo", "reached", max(deadline - time.monotonic(), 1.0))
            dist.barrier()
            dist.destroy_process_group()
        open_group(backend, "group", group.timeout_s)
    except RuntimeError as error:
        if _is_of_connection(error):
            raise
        raise ParallelError(
            f"rank {group.rank} cannot connect to the other ranks: {type(error).__name__}: "
            f"{' '.join(str(error).split())[:500]}"
        ) from error


def _met(environment: RankEnvironment, deadline: float, timeout_s: float) -> Store:
    """The store of all ranks, after each has entered its number."""
    if environment not in _STORES:
        _STORES[environment] = _store(environment, timeout_s)
    _JOINS[environment] += 1
    shared = PrefixStore(f"podium/{environment.restarts}/{_JOINS[environment]}", _STORES[environment])
    _wait_for_ranks(shared, environment, deadline, timeout_s)
    return shared


def _store(environment: RankEnvironment, timeout_s: float) -> TCPStore:
    try:
        return TCPStore(
            environment.address,
            environment.port,
            environment.size,
            is_master=environment.rank == 0 and not environment.store_is_served,
            timeout=timedelta(seconds=timeout_s),
            wait_for_workers=False,
        )
    except (dist.DistError, RuntimeError) as error:
        where = "the launcher" if environment.store_is_served else "rank 0"
        act = "listen" if environment.rank == 0 and not environment.store_is_served else f"reach {where}"
        raise ParallelError(
            f"rank {environment.rank} cannot {act} at {environment.place} within {timeout_s:g} s, by MASTER_ADDR and "
            f"MASTER_PORT: {' '.join(str(error).split())[:200]}"
        ) from error


def _wait_for_ranks(store: Store, environment: RankEnvironment, deadline: float, timeout_s: float) -> None:
    try:
        store.set(f"joined/{environment.rank}", "1")
        keys = {rank: f"joined/{rank}" for rank in range(environment.size)}
        remaining = max(deadline - time.monotonic(), 0.001)
        try:
            store.wait(list(keys.values()), timedelta(seconds=remaining))
        except dist.DistStoreError as error:
            missing = [str(rank) for rank, key in keys.items() if not store.check([key])]
            raise ParallelError(
                f"{'ranks' if len(missing) > 1 else 'rank'} {', '.join(missing)} of {environment.size} did not join "
                f"at {environment.place} within {timeout_s:g} s; see the output of the missing ranks, and check that "
                "all were started with the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE"
            ) from error
    except dist.DistNetworkError as error:
        raise RankLostError(f"the store of the ranks at {environment.place} ended before all ranks joined") from error


def _device(environment: RankEnvironment | None) -> torch.device:
    """One GPU for each rank of a machine. A launcher may also show each rank only its own."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        return torch.device("cpu")
    number = rank_environment.gpu_number(environment, count, os.environ.get("CUDA_VISIBLE_DEVICES"))
    device = torch.device("cuda", number)
    torch.cuda.set_device(device)
    return device
