"""The ensembles that finished sweeps request: a failed build is reported once, and does not delay others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from podium.db.stores import ensemble_reader, sweeps
from podium.ensemble.building.version_building import VersionBuilder
from podium.ensemble.host.requested_ensemble_builder import SweepEnsembleBuilder
from podium.sweep.values.errors import DatabaseError, EnsembleError
from tests.fakes import FakeClock
from tests.service_rig import ServiceRig, assert_problem


class FailingBuilder:
    """Raises the given error instead of building."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def build(self, *_: object, **__: object) -> None:
        raise self._error


def finished(service: ServiceRig) -> list[int]:
    """Two sweeps with an `ensemble:` block that have finished."""
    found = [service.sweep(ensemble={"k": 1}) for _ in range(2)]
    for sweep_id in found:
        service.end_sweep(sweep_id)
    return found


def requested(service: ServiceRig, error: Exception) -> SweepEnsembleBuilder:
    return SweepEnsembleBuilder(
        service.database, cast(VersionBuilder, FailingBuilder(error)), service.data, FakeClock()
    )


def errors_of(service: ServiceRig, sweep_ids: Sequence[int]) -> list[Any]:
    with service.database.read() as connection:
        return [sweeps.get(connection, sweep_id).ensemble_error for sweep_id in sweep_ids]


@pytest.mark.parametrize(
    ("error", "words"), [(EnsembleError("k is 3"), "k is 3"), (ValueError("odd"), "ValueError: odd")], ids=str
)
def test_failed_build_is_reported_at_its_sweep(service: ServiceRig, error: Exception, words: str) -> None:
    found = finished(service)
    requested(service, error).step()
    assert [words in (reason or "") for reason in errors_of(service, found)] == [True, True]


def test_build_is_retried_after_a_database_error(service: ServiceRig) -> None:
    found = finished(service)
    with pytest.raises(DatabaseError):
        requested(service, DatabaseError("locked")).step()
    assert errors_of(service, found) == [None, None]
    with service.database.read() as connection:
        assert [sweep_id for sweep_id, _ in ensemble_reader.requested(connection)] == found


def built(service: ServiceRig, sweep_id: int) -> ensemble_reader.VersionRow | None:
    """Finish the sweep; the version built from its `ensemble:` block."""
    service.end_sweep(sweep_id)
    SweepEnsembleBuilder(service.database, VersionBuilder(service.data), service.data, FakeClock()).step()
    with service.database.read() as connection:
        found = ensemble_reader.page(connection)
    return found[0].active if found else None


def test_fewer_finished_trials_than_k_build_a_smaller_ensemble_with_a_note(service: ServiceRig) -> None:
    sweep_id = service.sweep(ensemble={"k": 4, "quorum": 4})
    best, second = service.trial(sweep_id, 0, 0.9), service.trial(sweep_id, 1, 0.8)
    service.trial(sweep_id, 2, 0.7, model=False)
    service.trial(sweep_id, 3, float("nan"))
    version = built(service, sweep_id)
    assert version is not None
    assert [member.trial_id for member in version.members] == [best, second]
    assert version.quorum == 2
    assert version.selection["note"] == (
        "k is 4, but only 2 finished trials saved a model; the quorum is lowered from 4 to 2"
    )
    assert errors_of(service, [sweep_id]) == [None]


def test_ensemble_of_k_members_has_no_note(service: ServiceRig) -> None:
    sweep_id = service.sweep(ensemble={"k": 1})
    service.trial(sweep_id, 0, 0.9)
    version = built(service, sweep_id)
    assert version is not None
    assert (len(version.members), version.selection["note"]) == (1, "")


def test_one_finished_trial_does_not_make_an_ensemble(service: ServiceRig) -> None:
    sweep_id = service.sweep(ensemble={"k": 4})
    service.trial(sweep_id, 0, 0.9)
    assert built(service, sweep_id) is None
    (reason,) = errors_of(service, [sweep_id])
    assert reason.startswith("k is 4, but only 1 finished trials of this sweep saved a usable model")


def test_request_over_rest_with_too_few_trials_is_refused(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(2):
        service.trial(sweep_id, number, 0.9)
    answer = service.client().post("/api/v1/ensembles", json={"sweep_id": sweep_id, "k": 5})
    assert_problem(answer, 422, "k is 5, but only 2 finished trials")
