"""The status of an ensemble: invariants for every combination of its replicas' states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podium.db.stores.ensemble_reader import EnsembleRow, MemberRow, VersionRow
from podium.db.stores.member_replicas import ReplicaRow
from podium.ensemble.host.ensemble_status import can_take_over, has_ready_member, status_of
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Mode, Placement, Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.values.member_candidate import TrialFiles
from podium.sweep.values.states import TrialState

HOST_STATES = [  # the states that the host writes; the gateway writes the others
    MemberState.STARTING, MemberState.WARMING, MemberState.READY, MemberState.RESTARTING, MemberState.FAILED,
    MemberState.STOPPED,
]  # fmt: skip
UP = [EnsembleState.READY, EnsembleState.DEGRADED, EnsembleState.BELOW_QUORUM]
COMING = {MemberState.STARTING, MemberState.WARMING, MemberState.RESTARTING}

of_members = st.lists(st.lists(st.sampled_from(HOST_STATES), min_size=1, max_size=3), min_size=1, max_size=5)


def version(members: list[list[MemberState]], quorum: int, number: int = 1) -> VersionRow:
    """A version whose members' replicas are in these states; each that is not ready names itself in its reason."""
    rows = []
    for position, states in enumerate(members):
        replicas = tuple(
            ReplicaRow(n, n, state, "" if state is MemberState.READY else f"r{n}", None, None, None, 1, None, 0)
            for n, state in enumerate(states)
        )
        files = TrialFiles(position, position, 1, TrialState.FINISHED, 0.5, "maximize", "1/0/1", "ab", None)
        rows.append(MemberRow(position, position, position, 1.0, files, replicas))
    combination = Combination(Task.CLASSIFICATION, Rule.MEAN, (1.0,) * len(members))
    return VersionRow(
        number, Mode.BETWEEN_GRAPH, min(quorum, len(members)), 1000.0, Placement.SHARED, "float32",
        combination, {}, ("a", "b"), 3, {}, 0.0, tuple(rows),
    )  # fmt: skip


def ensemble(state: EnsembleState, *versions: VersionRow) -> EnsembleRow:
    """The first version is active; the second, if any, is the target."""
    target = versions[1].number if len(versions) > 1 else None
    return EnsembleRow(
        1, "e", 1, state, "", versions[0].number, target, None, 0.0, 0.0, {v.number: v for v in versions}
    )


def ready(members: list[list[MemberState]]) -> int:
    return sum(MemberState.READY in states for states in members)


@given(of_members, st.integers(1, 5), st.sampled_from(list(EnsembleState)))
def test_state_reflects_how_many_members_answer(
    members: list[list[MemberState]], quorum: int, before: EnsembleState
) -> None:
    row = version(members, quorum)
    state, reason = status_of(ensemble(before, row), before)
    assert (state is EnsembleState.READY) == (ready(members) == len(members))
    if state is EnsembleState.DEGRADED:
        assert min(quorum, len(members)) <= ready(members) < len(members)
    if state is EnsembleState.BELOW_QUORUM:
        assert ready(members) < min(quorum, len(members))
    if before in UP:
        assert state in UP, "an ensemble that was up does not warm again"
    if state in (EnsembleState.BUILDING, EnsembleState.WARMING):
        assert any(s in COMING for states in members for s in states), "nothing to wait for"
    assert has_ready_member(row) == (ready(members) > 0)
    for position, states in enumerate(members):
        if MemberState.READY not in states:
            assert f"trial {position} of sweep 1: " in reason, "a member that does not answer is named"


@given(of_members, st.integers(1, 5), of_members, st.integers(1, 5), st.sampled_from(UP))
def test_target_version_never_changes_the_state_of_the_active_one(
    active: list[list[MemberState]],
    quorum: int,
    target: list[list[MemberState]],
    quorum_2: int,
    before: EnsembleState,
) -> None:
    alone, _ = status_of(ensemble(before, version(active, quorum)), before)
    with_target, reason = status_of(ensemble(before, version(active, quorum), version(target, quorum_2, 2)), before)
    assert alone is with_target
    if "version 2 cannot take over" in reason:
        assert not can_take_over(version(target, quorum_2))


@given(of_members, st.integers(1, 5))
def test_version_takes_over_with_all_members_or_with_a_quorum_when_the_rest_failed(
    members: list[list[MemberState]], quorum: int
) -> None:
    waiting = any(s in COMING for states in members if MemberState.READY not in states for s in states)
    enough = ready(members) >= min(quorum, len(members))
    expected = ready(members) == len(members) or (enough and not waiting)
    assert can_take_over(version(members, quorum)) == expected
