"""The epoch of schedulers does not become lower when a backup of the database is restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling import scheduler_epoch_file
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.errors import ServiceError
from tests.service_rig import ServiceRig


def test_epoch_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    assert scheduler_epoch_file.read(data) == 0
    scheduler_epoch_file.record(data, 7)
    assert scheduler_epoch_file.read(data) == 7


def test_scheduler_of_an_older_database_has_a_higher_epoch(tmp_path: Path) -> None:
    rig = ServiceRig(tmp_path)
    scheduler_epoch_file.record(rig.settings.data, 70)
    recorder = DatabaseRecorder(rig.database, after_epoch=scheduler_epoch_file.read(rig.settings.data))
    assert recorder.epoch == 71
    rig.close()


def test_epoch_that_cannot_be_recorded_is_an_error(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    data.scheduler_epoch.mkdir()
    with pytest.raises(ServiceError, match="cannot write"):
        scheduler_epoch_file.record(data, 7)
