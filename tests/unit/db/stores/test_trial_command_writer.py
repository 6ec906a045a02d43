"""Commands for trials as rows: one transaction each, and a raised run cap."""

from __future__ import annotations

import pytest

from podium.db.queries import pending_client_requests
from podium.db.stores import sweep_command_writer, sweeps, trial_command_writer, trial_reader
from podium.sweep.lifecycle.allowed_commands import TrialCommand
from podium.sweep.values.errors import ConflictError, InvalidSpecError, NotPossibleError
from podium.sweep.values.states import TrialRequest
from tests.service_rig import AT, ServiceRig


def test_each_requested_trial_raises_the_run_cap(service: ServiceRig) -> None:
    sweep_id = service.sweep(run_cap=2)
    done, running = service.trial(sweep_id, 0, 0.5), service.trial(sweep_id, 1, None)
    with service.database.write() as connection:
        for wanted in range(1, 4):
            trial_command_writer.clone(connection, done, {}, AT)
            assert sweeps.get(connection, sweep_id).run_cap == 2 + wanted
        trial_command_writer.command_trial(connection, running, TrialCommand.STOP, AT)  # does not raise run_cap
        assert sweeps.get(connection, sweep_id).run_cap == 5


def test_scheduler_reads_the_requests(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, None)
    with service.database.write() as connection:
        trial_command_writer.command_trial(connection, trial_id, TrialCommand.STOP, AT)
        added, _ = trial_command_writer.clone(connection, trial_id, {"lr": 0.02}, AT)
        assert [
            (command.trial.trial_id, command.request)
            for command in pending_client_requests.pending_requests(connection)
        ] == [(trial_id, TrialRequest.STOP)]
        assert [(item.enqueued_id, item.params) for item in pending_client_requests.enqueued(connection)] == [
            (added.id, {"lr": 0.02})
        ]


def test_refused_request_writes_nothing(service: ServiceRig) -> None:
    sweep_id = service.sweep(run_cap=1)
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.end_sweep(sweep_id)
    with service.database.read() as connection:
        before = (sweeps.get(connection, sweep_id), trial_reader.get(connection, trial_id))
    with pytest.raises(InvalidSpecError), service.database.write() as connection:
        trial_command_writer.clone(connection, trial_id, {"lr": 7.0}, AT)
    with pytest.raises(NotPossibleError), service.database.write() as connection:
        trial_command_writer.command_trial(connection, trial_id, TrialCommand.RETRY, AT)
    with pytest.raises(ConflictError), service.database.write() as connection:
        sweep_command_writer.extend(connection, sweep_id, 0, 2.0, AT)
    with service.database.read() as connection:
        assert (sweeps.get(connection, sweep_id), trial_reader.get(connection, trial_id)) == before
        assert pending_client_requests.enqueued(connection) == ()
