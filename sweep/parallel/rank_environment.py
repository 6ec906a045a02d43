"""The variables by which `torchrun`, or another launcher, tells a process its rank; pure, the user's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from podium.sweep.values.errors import ParallelError

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True, slots=True)
class RankEnvironment:
    """One rank of a gang: its number, the number of ranks, its number on this machine, and where they meet.

    `store_is_served`: the launcher runs the store at the address. Otherwise rank 0 does.
    """

    rank: int
    size: int
    local_rank: int
    address: str
    port: int
    store_is_served: bool = False
    restarts: int = 0

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
    restarts = _number(environ, "TORCHELASTIC_RESTART_COUNT") if "TORCHELASTIC_RESTART_COUNT" in environ else 0
    return RankEnvironment(rank, size, local_rank, environ["MASTER_ADDR"], port, served, restarts)


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ[name]
    if not (text.isascii() and text.isdigit()):
        raise ParallelError(f"{name} is {text!r}; it must be an integer, 0 or larger")
    return int(text)
