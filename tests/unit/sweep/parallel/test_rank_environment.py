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
    restarted = {**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "3"}
    assert rank_environment.read(restarted) == RankEnvironment(2, 4, 1, "b", 29500, store_is_served=True, restarts=3)


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
