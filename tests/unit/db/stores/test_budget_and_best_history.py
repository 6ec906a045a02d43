"""What a sweep has used, computed from the database: equal to what is accumulated trial by trial, from few rows."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from podium.db.schema.tables import trials
from podium.db.stores import budget_and_best_history, sweeps
from podium.sweep.lifecycle.budget_usage import BestValueTracker, BudgetTerms, CountedTrial
from podium.sweep.lifecycle.database_changes import AttemptEnded
from podium.sweep.spec.budget import Plateau
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState
from tests.service_rig import AT, ServiceRig

ENDS = st.lists(
    st.tuples(st.integers(-4, 4), st.sampled_from(["finished", "violates", "pruned"]), st.integers(0, 3)), max_size=12
)


def end(service: ServiceRig, sweep_id: int, number: int, value: float, how: str, at: float) -> None:
    trial_id = service.trial(sweep_id, number, None, model=False)
    state = TrialState.PRUNED if how == "pruned" else TrialState.FINISHED
    ended = Ended(
        AttemptKey(trial_id, 1), state, AT, at,
        value=value if state is TrialState.FINISHED else None, constraints={"size": 1.0} if how == "violates" else {},
    )  # fmt: skip
    service.commit(AttemptEnded(ended, sweep_id, number, state))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ENDS, st.sampled_from(["maximize", "minimize"]), st.sampled_from([0.0, 1.0, 2.5]), st.integers(-4, 4))
def test_usage_from_the_database_equals_usage_trial_by_trial(
    service: ServiceRig, ends: list[tuple[int, str, int]], goal: str, min_delta: float, target: int
) -> None:
    name = {"maximize": "val_accuracy", "minimize": "val_loss"}[goal]
    sweep_id = service.sweep(metric={"name": name, "goal": goal})
    for number, (value, how, after_s) in enumerate(ends):
        end(service, sweep_id, number, float(value), how, AT + after_s)
    order = sorted(range(len(ends)), key=lambda number: (ends[number][2], number))
    outcomes = [CountedTrial(n, float(ends[n][0]) if ends[n][1] == "finished" else None) for n in order]
    terms = BudgetTerms(plateau=Plateau(trials=3, min_delta=min_delta), target=float(target))
    expected = BestValueTracker(goal, terms, outcomes)
    with service.database.read() as connection:
        used = budget_and_best_history.used(connection, sweeps.get(connection, sweep_id), terms, AT)
    assert (used.trials_without_improvement, used.reached_by) == (
        expected.trials_without_improvement,
        expected.reached_by,
    )


def test_only_successive_best_trials_are_read(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number, value in enumerate([0.5, 0.4, 0.4, 0.6, 0.6, 0.1, 0.2, 0.9, 0.3]):
        service.trial(sweep_id, number, value, model=False)
    with service.database.write() as connection:
        connection.execute(update(trials).values(ended_at=AT + trials.c.number))
        read = budget_and_best_history.records(connection, sweep_id, "maximize")
    assert read == {CountedTrial(0, 0.5): AT, CountedTrial(3, 0.6): AT + 3, CountedTrial(7, 0.9): AT + 7}
