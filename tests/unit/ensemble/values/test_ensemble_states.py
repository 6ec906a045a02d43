"""The states of ensembles: which of them serve, and which run."""

from __future__ import annotations

from podium.ensemble.values.ensemble_states import RUNNING_STATES, SERVING_STATES, EnsembleState


def test_answering_states_are_a_subset_of_the_running_states() -> None:
    assert SERVING_STATES < RUNNING_STATES
    assert {EnsembleState.STOPPED, EnsembleState.RETIRED}.isdisjoint(RUNNING_STATES)
