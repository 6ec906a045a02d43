"""Which sweep gets the free slot: nobody starves, nobody has more than its share or its limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweep.fairness import Claim, choose

_CLAIMS = st.lists(
    st.builds(
        Claim,
        sweep_id=st.integers(1, 50),
        running=st.integers(0, 20),
        max_concurrent=st.none() | st.integers(1, 20),
    ),
    unique_by=lambda claim: claim.sweep_id,
    max_size=12,
)


def test_the_sweep_that_holds_the_fewest_is_next_and_the_older_one_in_a_tie() -> None:
    assert choose([Claim(1, 2, None), Claim(2, 1, None), Claim(3, 1, None)]) == 2


def test_nobody_is_chosen_where_nobody_may_have_more() -> None:
    assert choose([]) is None
    assert choose([Claim(1, 2, 2)]) is None


@given(_CLAIMS)
def test_the_chosen_may_have_more_and_no_other_that_may_holds_fewer(claims: list[Claim]) -> None:
    allowed = [c for c in claims if c.max_concurrent is None or c.running < c.max_concurrent]
    chosen = choose(claims)
    assert (chosen is None) == (not allowed)
    for claim in allowed:
        if claim.sweep_id == chosen:
            assert all((claim.running, claim.sweep_id) <= (c.running, c.sweep_id) for c in allowed)


@given(sweeps=st.integers(1, 8), slots=st.integers(1, 40))
def test_slots_handed_out_one_by_one_are_shared_evenly(sweeps: int, slots: int) -> None:
    running = dict.fromkeys(range(1, sweeps + 1), 0)
    for _ in range(slots):
        chosen = choose(Claim(sweep_id, held, None) for sweep_id, held in running.items())
        assert chosen is not None
        running[chosen] += 1
    assert max(running.values()) - min(running.values()) <= 1
