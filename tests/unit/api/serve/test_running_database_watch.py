"""The service stops if its database is not the one that it started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.api.serve.running_database_watch import DatabaseWatch
from podium.sweep.runtime.component_startup_and_heartbeats import WRONG_DATABASE, exit_with
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError, WrongDatabaseError


def test_replaced_file_stops_the_service(tmp_path: Path) -> None:
    settings = ServiceSettings(str(tmp_path), str(tmp_path / "run"))
    settings.data.database.touch()
    watch = DatabaseWatch(settings)
    watch.check(1, "any error")

    (tmp_path / "another").touch()
    (tmp_path / "another").replace(settings.data.database)
    with pytest.raises(DatabaseError, match="was removed or replaced while the service was running"):
        watch.check(1, "any error")


def test_file_is_not_watched_if_the_database_is_elsewhere(tmp_path: Path) -> None:
    settings = ServiceSettings(str(tmp_path), str(tmp_path / "run"), database_url_file=str(tmp_path / "url"))
    settings.data.database.touch()  # from before it was copied to PostgreSQL
    watch = DatabaseWatch(settings)
    settings.data.database.unlink()
    watch.check(1, "any error")

    with pytest.raises(DatabaseError, match=r"^it belongs to another service$"):
        watch.check(WRONG_DATABASE, "it belongs to another service")


@pytest.mark.parametrize(
    ("error", "status"), [(WrongDatabaseError("wrong"), WRONG_DATABASE), (DatabaseError("wrong"), 1)]
)
def test_component_ends_with_a_status_that_says_why(
    error: DatabaseError, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        exit_with(error)
    assert (ended.value.code, capsys.readouterr().err) == (status, "wrong\n")
