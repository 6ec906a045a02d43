"""How a process reads its rank."""

from __future__ import annotations

import pytest

from podium.sweep.parallel import rank_environment
from podium.sweep.parallel.rank_environment import RankEnvironment
from podium.sweep.values.errors import ParallelError

TORCHRUN = {"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "b", "MASTER_PORT": "29500"}


def test_the_variables_of_torchrun_are_read() -> None:
    assert rank_environment.read({**TORCHRUN, "PATH": "/bin"}) == RankEnvironment(2, 4, 1, "b", 29500)


def test_the_store_of_a_launcher_is_used_again_after_a_restart() -> None:
    assert rank_environment.read({**TORCHRUN, "LOCAL_WORLD_SIZE": "2"}) == RankEnvironment(
        2, 4, 1, "b", 29500, local_size=2
    )
    restarted = {**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "3"}
    assert rank_environment.read(restarted) == RankEnvironment(2, 4, 1, "b", 29500, store_is_served=True, restarts=3)


@pytest.mark.parametrize(
    ("local_rank", "count", "visible", "number"),
    [(1, 2, None, 1), (1, 4, "4,5,6,7", 1), (1, 1, "3", 0), (1, 1, "GPU-5a", 0)],
    ids=["all", "some", "its own by number", "its own by name"],
)
def test_each_rank_has_a_gpu(local_rank: int, count: int, visible: str | None, number: int) -> None:
    environment = RankEnvironment(2, 4, local_rank, "b", 1, local_size=2)
    assert rank_environment.gpu_number(environment, count, visible) == number


def test_a_process_without_a_rank_has_the_first_gpu() -> None:
    assert rank_environment.gpu_number(None, 4, None) == 0


@pytest.mark.parametrize(
    ("local_rank", "local_size", "count", "visible"), [(0, 4, 2, None), (1, None, 1, None), (2, 4, 2, "0,1")]
)
def test_ranks_that_would_share_a_gpu_are_refused(
    local_rank: int, local_size: int | None, count: int, visible: str | None
) -> None:
    environment = RankEnvironment(2, 4, local_rank, "b", 1, local_size=local_size)
    with pytest.raises(
        ParallelError, match=rf"or more ranks, but rank 2 sees {count} GPUs; start at most {count} ranks"
    ):
        rank_environment.gpu_number(environment, count, visible)


@pytest.mark.parametrize("environ", [{}, {"MASTER_ADDR": "b"}])
def test_a_process_without_a_rank_is_alone(environ: dict[str, str]) -> None:
    assert rank_environment.read(environ) is None


@pytest.mark.parametrize("missing", [("RANK",), ("WORLD_SIZE",), ("MASTER_ADDR", "MASTER_PORT")])
def test_missing_variables_are_named(missing: tuple[str, ...]) -> None:
    environ = {name: value for name, value in TORCHRUN.items() if name not in missing}
    with pytest.raises(ParallelError, match=f"but not {', '.join(missing)}; start the program by a launcher"):
        rank_environment.read(environ)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"RANK": "4"}, "RANK is 4 and WORLD_SIZE is 4; ranks are 0 to WORLD_SIZE - 1"),
        ({"RANK": "-1"}, "RANK is '-1'; it must be an integer, 0 or larger"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT is 'http'; it must be an integer"),
    ],
)
def test_impossible_values_are_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ParallelError, match=message):
        rank_environment.read({**TORCHRUN, **changed})
