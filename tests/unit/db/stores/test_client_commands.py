"""Requests of clients as rows: one transaction each, a raised run cap, and late scheduler changes that are ignored."""

from __future__ import annotations

import threading

import pytest

from podium.db.schema.engine import Database
from podium.db.stores import client_commands, restored_trials, sweeps, trial_reader
from podium.sweep.lifecycle.allowed_commands import SweepCommand, TrialCommand
from podium.sweep.lifecycle.database_changes import SweepChanged
from podium.sweep.values.errors import ConflictError, InvalidSpecError, NotPossibleError
from podium.sweep.values.states import SweepState, TrialRequest
from tests.service_rig import AT, ServiceRig


def test_transition_is_checked_and_written_in_one_transaction(service: ServiceRig) -> None:
    """Two processes: the second waits for the first one's transaction, and then sees its result."""
    sweep_id = service.sweep()
    other = Database(service.data.database)
    refused: list[NotPossibleError] = []

    def pause() -> None:
        try:
            with other.write() as connection:
                client_commands.command_sweep(connection, sweep_id, SweepCommand.PAUSE, AT)
        except NotPossibleError as error:
            refused.append(error)

    with service.database.write() as connection:
        second = threading.Thread(target=pause)
        second.start()
        client_commands.command_sweep(connection, sweep_id, SweepCommand.CANCEL, AT)
    second.join(30)
    other.close()
    assert [error.possible for error in refused] == [()]


def test_outdated_scheduler_change_does_not_undo_a_client_command(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    with service.database.write() as connection:
        client_commands.command_sweep(connection, sweep_id, SweepCommand.PAUSE, AT)
        sweeps.change(connection, [SweepChanged(sweep_id, SweepState.QUEUED, SweepState.RUNNING, "", AT)])
        assert sweeps.get(connection, sweep_id).state is SweepState.PAUSED


def test_each_requested_trial_raises_the_run_cap(service: ServiceRig) -> None:
    sweep_id = service.sweep(run_cap=2)
    done, running = service.trial(sweep_id, 0, 0.5), service.trial(sweep_id, 1, None)
    with service.database.write() as connection:
        for wanted in range(1, 4):
            client_commands.clone(connection, done, {}, AT)
            assert sweeps.get(connection, sweep_id).run_cap == 2 + wanted
        client_commands.command_trial(connection, running, TrialCommand.STOP, AT)  # does not raise run_cap
        assert sweeps.get(connection, sweep_id).run_cap == 5


def test_scheduler_reads_the_requests(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, None)
    with service.database.write() as connection:
        client_commands.command_trial(connection, trial_id, TrialCommand.STOP, AT)
        added, _ = client_commands.clone(connection, trial_id, {"lr": 0.02}, AT)
        assert [
            (command.trial.trial_id, command.request) for command in restored_trials.pending_requests(connection)
        ] == [(trial_id, TrialRequest.STOP)]
        assert [(item.enqueued_id, item.params) for item in restored_trials.enqueued(connection)] == [
            (added.id, {"lr": 0.02})
        ]


def test_refused_request_writes_nothing(service: ServiceRig) -> None:
    sweep_id = service.sweep(run_cap=1)
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.end_sweep(sweep_id)
    with service.database.read() as connection:
        before = (sweeps.get(connection, sweep_id), trial_reader.get(connection, trial_id))
    with pytest.raises(InvalidSpecError), service.database.write() as connection:
        client_commands.clone(connection, trial_id, {"lr": 7.0}, AT)
    with pytest.raises(NotPossibleError), service.database.write() as connection:
        client_commands.command_trial(connection, trial_id, TrialCommand.RETRY, AT)
    with pytest.raises(ConflictError), service.database.write() as connection:
        client_commands.extend(connection, sweep_id, 0, 2.0, AT)
    with service.database.read() as connection:
        assert (sweeps.get(connection, sweep_id), trial_reader.get(connection, trial_id)) == before
        assert restored_trials.enqueued(connection) == ()
