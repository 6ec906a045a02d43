"""The ensembles of a sweep: those built from it, and why the one requested by its file could not be built."""

from __future__ import annotations

from podium.db.schema.database import Database
from podium.db.stores import ensemble_reader, ensemble_writer, event_outbox, sweeps
from podium.sweep.values.states import SweepState
from tests.service_rig import AT, ServiceRig, new_version


def waiting(database: Database) -> list[int]:
    with database.read() as connection:
        return [sweep_id for sweep_id, _ in ensemble_reader.requested(connection)]


def test_only_a_finished_sweep_with_a_block_waits_for_its_ensemble(service: ServiceRig) -> None:
    requested, without_block, running, failed = (
        service.sweep(ensemble=block) for block in ({}, None, {"k": 2}, {"k": 2})
    )
    for sweep_id, state in (
        (requested, SweepState.FINISHED),
        (without_block, SweepState.FINISHED),
        (failed, SweepState.FAILED),
    ):
        service.end_sweep(sweep_id, state)
    assert waiting(service.database) == [requested]
    service.end_sweep(running)
    assert waiting(service.database) == [requested, running]


def test_sweep_stops_waiting_when_its_ensemble_is_built(service: ServiceRig) -> None:
    sweep_id = service.sweep(ensemble={"k": 1})
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.end_sweep(sweep_id)
    of_a_client = service.ensemble(sweep_id, [trial_id])
    assert waiting(service.database) == [sweep_id]
    with service.database.write() as connection:
        built = ensemble_writer.create(connection, None, sweep_id, new_version([trial_id]), AT, requested=True)
    assert waiting(service.database) == []
    shown = service.client().get(f"/api/v1/sweeps/{sweep_id}").json()
    assert shown["ensembles"] == [of_a_client, built]
    assert (shown["ensemble_id"], shown["ensemble_error"]) == (built, None)
    listed = {**shown, "device_busy_share": None, "budget": None, "description": None}
    assert service.client().get("/api/v1/sweeps").json()["items"] == [listed]


def test_failed_build_is_reported_once_and_not_retried(service: ServiceRig) -> None:
    sweep_id = service.sweep(ensemble={"k": 3})
    service.end_sweep(sweep_id)
    with service.database.write() as connection:
        sweeps.set_ensemble_error(connection, sweep_id, "k is 3, but only 0 trials", AT + 2)
    assert waiting(service.database) == []
    with service.database.read() as connection:
        assert sweeps.get(connection, sweep_id).ensemble_error == "k is 3, but only 0 trials"
        last = event_outbox.after(connection, 0)[-1]
    assert (last["kind"], last["sweep_id"]) == ("sweep.ensemble_failed", sweep_id)
    assert last["payload"] == {"reason": "k is 3, but only 0 trials"}
    shown = service.client().get(f"/api/v1/sweeps/{sweep_id}").json()
    assert (shown["state"], shown["ensembles"]) == ("finished", [])
    assert shown["ensemble_error"] == "k is 3, but only 0 trials"
