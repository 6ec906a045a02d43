"""The leadership process reads the id of its Ray cluster again and again: the head may be started again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from podium.api.serve import leadership_process
from podium.db.stores.leader_election import LeaderState
from podium.sweep.ray_cluster import ray_cluster_id
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import ServiceError


def test_id_of_the_ray_cluster_is_read_at_each_renewal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ServiceSettings("/data", str(tmp_path), standby=True, existing_cluster=ExistingCluster("10.0.0.9:6379"))
    settings.runtime.ray.mkdir()
    ray_cluster_id.record(settings.runtime, "session 1")
    file = next(settings.runtime.ray.iterdir())
    used: list[str] = []

    class FakeLeadership:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def use_ray(self, ray: str) -> None:
            used.append(ray)

        def try_acquire_or_renew(self) -> LeaderState:
            if len(used) == 1:
                file.unlink()  # the raylet is being started again
            elif len(used) == 2:
                ray_cluster_id.record(settings.runtime, "session 2")
            else:
                raise ServiceError("the test has ended")
            return LeaderState(1, None)

    def ignore(*_: Any, **__: Any) -> None:
        pass

    monkeypatch.setattr(leadership_process, "Leadership", FakeLeadership)
    monkeypatch.setattr(leadership_process, "open_postgres", lambda *_: SimpleNamespace(end_sessions=ignore))
    monkeypatch.setattr(leadership_process, "WakeForwarding", lambda *_: SimpleNamespace(lead=ignore))
    monkeypatch.setattr(leadership_process, "signal", SimpleNamespace(signal=ignore, SIGTERM=15))
    for name in ("report_leadership", "report_ready", "_wait"):
        monkeypatch.setattr(leadership_process, name, ignore)
    with pytest.raises(ServiceError, match="the test has ended"):
        leadership_process.run(settings)
    assert used == ["session 1", "session 1", "session 2"]
