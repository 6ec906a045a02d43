"""The environment of a rank is that of torchrun, which `podium.parallel` reads."""

from __future__ import annotations

from podium.sweep.parallel import rank_environment
from podium.sweep.trial_process.rank_setup import RANK_VARIABLES, rank_variables
from podium.sweep.values.attempt_assignment import GangPlace


def test_rank_has_the_variables_of_torchrun() -> None:
    place = GangPlace(5, 8, 1, 4, 1, 2, "7-1-ab", ("0", "1", "2", "3"), (None,) * 4, "10.0.0.1")
    variables = rank_variables(place, 29_500)
    assert list(variables) == list(RANK_VARIABLES)
    read = rank_environment.read(variables)
    assert read is not None
    assert (read.rank, read.size, read.local_rank, read.local_size) == (5, 8, 1, 4)
    assert (read.place, read.store_is_served) == ("10.0.0.1:29500", True)
