"""Which sweep gets the free slot: device-seconds are shared by priority, no sweep starves, limits are enforced."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.scheduling.fair_share import Claim, FairShare

_CLAIMS = st.lists(
    st.builds(
        Claim,
        sweep_id=st.integers(1, 50),
        running=st.integers(0, 20),
        max_concurrent=st.none() | st.integers(1, 20),
        priority=st.floats(0.01, 100),
        used_s=st.floats(0, 1e6),
        held_s=st.floats(0, 1e6),
        ready=st.booleans(),
    ),
    unique_by=lambda claim: claim.sweep_id,
    max_size=12,
)


@dataclass
class Load:
    """A sweep that always has a trial ready."""

    trial_s: float
    priority: float = 1.0
    max_concurrent: int | None = None
    arrives_s: float = 0.0


def share(loads: dict[int, Load], slots: int, until_s: float) -> tuple[dict[int, float], dict[int, list[float]]]:
    """Device-seconds of each sweep until `until_s`, and when its trials started, from an event simulation."""
    fair = FairShare()
    used = dict.fromkeys(loads, 0.0)
    started: dict[int, list[float]] = {sweep_id: [] for sweep_id in loads}
    running: list[tuple[float, int, float]] = []  # end, sweep, start
    now, free = 0.0, slots
    while now < until_s:
        while free and (chosen := fair.choose(_claims(loads, running, now))) is not None:
            heapq.heappush(running, (now + loads[chosen].trial_s, chosen, now))
            started[chosen].append(now)
            free -= 1
        arrivals = [load.arrives_s for load in loads.values() if load.arrives_s > now]
        now = min([running[0][0]] * bool(running) + arrivals)
        while running and running[0][0] <= now:
            end, sweep_id, start = heapq.heappop(running)
            fair.charge(sweep_id, end - start, loads[sweep_id].priority)
            used[sweep_id] += end - start
            free += 1
    return used, started


def _claims(loads: dict[int, Load], running: list[tuple[float, int, float]], now: float) -> list[Claim]:
    count, used, held = dict.fromkeys(loads, 0), dict.fromkeys(loads, 0.0), dict.fromkeys(loads, 0.0)
    for _, sweep_id, start in running:
        count[sweep_id] += 1
        used[sweep_id] += now - start
        held[sweep_id] += max(now - start, loads[sweep_id].trial_s)
    return [
        Claim(i, count[i], load.max_concurrent, load.priority, used[i], held[i])
        for i, load in loads.items()
        if load.arrives_s <= now
    ]


def test_slot_goes_to_sweep_that_holds_least_and_to_older_one_in_tie() -> None:
    claims = [Claim(1, 2, held_s=2.0), Claim(2, 1, held_s=1.0), Claim(3, 1, held_s=1.0)]
    assert FairShare().choose(claims) == 2


def test_no_sweep_is_chosen_when_all_are_at_their_limit() -> None:
    assert FairShare().choose([]) is None
    assert FairShare().choose([Claim(1, 2, 2), Claim(2, ready=False)]) is None


@given(_CLAIMS)
def test_chosen_sweep_is_allowed_more(claims: list[Claim]) -> None:
    chosen = FairShare().choose(claims)
    allowed = {claim.sweep_id for claim in claims if claim.allowed}
    assert chosen in allowed if allowed else chosen is None


@given(
    st.lists(st.builds(Load, trial_s=st.floats(1, 50), priority=st.floats(0.25, 4)), min_size=2, max_size=5),
    st.integers(1, 8),
)
def test_device_seconds_are_shared_by_priority_for_any_trial_length(sweeps: list[Load], slots: int) -> None:
    loads = dict(enumerate(sweeps, 1))
    used, _ = share(loads, slots, until_s=3000.0)
    weights = sum(load.priority for load in loads.values())
    # The effect of one trial more or less on each slot and for each sweep.
    slack = (slots + len(loads)) * max(load.trial_s for load in loads.values()) * max(
        load.priority for load in loads.values()
    ) / min(load.priority for load in loads.values())  # fmt: skip
    for sweep_id, load in loads.items():
        assert abs(used[sweep_id] - sum(used.values()) * load.priority / weights) <= slack


@given(
    st.lists(st.builds(Load, trial_s=st.floats(1, 20), priority=st.floats(0.5, 2)), min_size=1, max_size=5),
    st.integers(1, 4),
    st.floats(1, 20),
)
def test_first_sweep_does_not_starve_when_others_arrive_later(sweeps: list[Load], slots: int, trial_s: float) -> None:
    """The first sweep continues to get slots while others arrive one after another, each with an empty account."""
    late = [replace(load, arrives_s=400.0 * position) for position, load in enumerate(sweeps, 1)]
    loads = {0: Load(trial_s)} | dict(enumerate(late, 1))
    _, started = share(loads, slots, until_s=400.0 * (len(sweeps) + 2))
    gaps = [later - earlier for earlier, later in zip(started[0], started[0][1:], strict=False)]
    longest = max(load.trial_s for load in loads.values())
    assert max(gaps) <= 3 * longest * sum(load.priority for load in loads.values()) / loads[0].priority


def test_late_sweep_gets_its_share_but_no_compensation() -> None:
    used, started = share({1: Load(1.0), 2: Load(1.0, arrives_s=1000.0)}, slots=2, until_s=1100.0)
    assert abs(used[2] - 100.0) <= 4.0
    assert sum(1000.0 <= at < 1010.0 for at in started[1]) >= 8


def test_sweep_at_its_own_limit_accumulates_no_credit() -> None:
    loads = {1: Load(1.0), 2: Load(1.0, max_concurrent=1), 3: Load(1.0, arrives_s=1000.0)}
    _, started = share(loads, slots=4, until_s=1100.0)
    assert sum(at < 1000.0 for at in started[2]) in range(990, 1001)
    assert sum(1000.0 <= at < 1020.0 for at in started[1]) >= 20
