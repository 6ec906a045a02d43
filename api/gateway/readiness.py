"""Whether the gateway can answer for its ensembles; gateway."""

from __future__ import annotations

from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.replica_link_manager import can_answer
from podium.ensemble.values.ensemble_snapshot import Traffic
from podium.ensemble.values.ensemble_states import EnsembleState

_NEVER_READY = frozenset({EnsembleState.BUILDING, EnsembleState.WARMING})


def expected(aggregator: Aggregator) -> list[Traffic]:
    """The ensembles that have been ready, so that clients expect answers."""
    return [each for each in aggregator.ensembles.all() if each.state not in _NEVER_READY]


def can_answer_all(aggregator: Aggregator) -> bool:
    """Whether each of them has its quorum; true if there is none."""
    return all(can_answer(each.active) for each in expected(aggregator))
