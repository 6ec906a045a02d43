"""Commands for sweeps as rows: one transaction each, and late scheduler changes that are ignored."""

from __future__ import annotations

import threading

import pytest

from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.stores import sweep_command_writer, sweeps
from podium.sweep.lifecycle.allowed_commands import SweepCommand
from podium.sweep.lifecycle.database_changes import SweepChanged
from podium.sweep.values.errors import NotPossibleError
from podium.sweep.values.states import SweepState
from tests.service_rig import AT, ServiceRig


@pytest.mark.sqlite
def test_transition_is_checked_and_written_in_one_transaction(service: ServiceRig) -> None:
    """Two processes: the second waits for the first one's transaction, and then sees its result."""
    sweep_id = service.sweep()
    other = SqliteDatabase(service.data.database)
    refused: list[NotPossibleError] = []

    def pause() -> None:
        try:
            with other.write() as connection:
                sweep_command_writer.command_sweep(connection, sweep_id, SweepCommand.PAUSE, AT)
        except NotPossibleError as error:
            refused.append(error)

    with service.database.write() as connection:
        second = threading.Thread(target=pause)
        second.start()
        sweep_command_writer.command_sweep(connection, sweep_id, SweepCommand.CANCEL, AT)
    second.join(30)
    other.close()
    assert [error.possible for error in refused] == [()]


def test_outdated_scheduler_change_does_not_undo_a_client_command(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    with service.database.write() as connection:
        sweep_command_writer.command_sweep(connection, sweep_id, SweepCommand.PAUSE, AT)
        sweeps.change(connection, [SweepChanged(sweep_id, SweepState.QUEUED, SweepState.RUNNING, "", AT)])
        assert sweeps.get(connection, sweep_id).state is SweepState.PAUSED
