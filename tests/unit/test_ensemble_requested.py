"""The ensembles that finished sweeps asked for: what cannot be built is said once, and holds nobody else up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from db import ensembles, sweeps
from ensemble.building import Builder
from ensemble.requested import Requested
from sweep.errors import DatabaseError, EnsembleError
from tests.fakes import FakeClock
from tests.service_rig import ServiceRig


class FailingBuilder:
    """Builds nothing, for the reason given."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def build(self, *_: object) -> None:
        raise self._error


def finished(service: ServiceRig) -> list[int]:
    """Two sweeps with an `ensemble:` block that have finished."""
    found = [service.sweep(ensemble={"k": 1}) for _ in range(2)]
    for sweep_id in found:
        service.end_sweep(sweep_id)
    return found


def requested(service: ServiceRig, error: Exception) -> Requested:
    return Requested(service.database, cast(Builder, FailingBuilder(error)), service.data, FakeClock())


def said(service: ServiceRig, sweep_ids: Sequence[int]) -> list[Any]:
    with service.database.read() as connection:
        return [sweeps.get(connection, sweep_id).ensemble_error for sweep_id in sweep_ids]


@pytest.mark.parametrize(
    ("error", "words"), [(EnsembleError("k is 3"), "k is 3"), (ValueError("odd"), "ValueError: odd")], ids=str
)
def test_what_cannot_be_built_is_said_at_its_sweep(service: ServiceRig, error: Exception, words: str) -> None:
    found = finished(service)
    requested(service, error).step()
    assert [words in (reason or "") for reason in said(service, found)] == [True, True]


def test_a_database_that_does_not_answer_is_asked_again(service: ServiceRig) -> None:
    found = finished(service)
    with pytest.raises(DatabaseError):
        requested(service, DatabaseError("locked")).step()
    assert said(service, found) == [None, None]
    with service.database.read() as connection:
        assert [sweep_id for sweep_id, _ in ensembles.requested(connection)] == found
