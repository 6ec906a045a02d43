"""The variables by which `torchrun`, or another launcher, tells a process its rank; pure, the user's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from podium.sweep.values.errors import ParallelError

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True, slots=True)
class RankEnvironment:
    """One rank of a program: its number, the number of ranks, its number on this machine, and where they meet.

    `store_is_served`: the launcher runs the store at the address. Otherwise rank 0 does. `local_size`: the number of
    ranks on this machine; None if the launcher does not say.
    """

    rank: int
    size: int
    local_rank: int
    address: str
    port: int
    store_is_served: bool = False
    restarts: int = 0
    local_size: int | None = None

    @property
    def place(self) -> str:
        """Where the ranks meet."""
        return f"{self.address}:{self.port}"


def read(environ: Mapping[str, str]) -> RankEnvironment | None:
    """The rank of this process; None without `RANK` and `WORLD_SIZE`. Raises `ParallelError` if some are missing."""
    if "RANK" not in environ and "WORLD_SIZE" not in environ:
        return None
    if missing := [name for name in VARIABLES if name not in environ]:
        present = "RANK" if "RANK" in environ else "WORLD_SIZE"
        raise ParallelError(
            f"the environment has {present} but not {', '.join(missing)}; start the program by a launcher that sets "
            f"all of {', '.join(VARIABLES)}, such as torchrun, or with none of them as one process"
        )
    rank, size, local_rank, port = (_number(environ, name) for name in VARIABLES if name != "MASTER_ADDR")
    if not 0 <= rank < size:
        raise ParallelError(f"RANK is {rank} and WORLD_SIZE is {size}; ranks are 0 to WORLD_SIZE - 1")
    served = environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    restarts = _optional_number(environ, "TORCHELASTIC_RESTART_COUNT") or 0
    local_size = _optional_number(environ, "LOCAL_WORLD_SIZE")
    return RankEnvironment(rank, size, local_rank, environ["MASTER_ADDR"], port, served, restarts, local_size)


def gpu_number(environment: RankEnvironment | None, count: int, visible: str | None) -> int:
    """Which of the `count` GPUs that this process sees is its own. Raises `ParallelError` if two ranks would share one.

    `visible`: `CUDA_VISIBLE_DEVICES`, by which a launcher may show each rank one GPU of its own.
    """
    shows_own = count == 1 and visible is not None and "," not in visible
    if environment is None or shows_own:
        return 0
    ranks = max(environment.local_rank + 1, environment.local_size or 0)
    if ranks > count:
        raise ParallelError(
            f"this machine has {ranks} or more ranks, but rank {environment.rank} sees {count} GPUs; start at most "
            f"{count} ranks here, or hide the GPUs with CUDA_VISIBLE_DEVICES=''"
        )
    return environment.local_rank


def _optional_number(environ: Mapping[str, str], name: str) -> int | None:
    return _number(environ, name) if name in environ else None


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ[name]
    if not (text.isascii() and text.isdigit()):
        raise ParallelError(f"{name} is {text!r}; it must be an integer, 0 or larger")
    return int(text)
