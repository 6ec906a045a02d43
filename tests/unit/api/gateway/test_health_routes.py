"""Liveness and readiness of a gateway: ready when it can answer for its ensembles, or has none."""

from __future__ import annotations

from typing import Any

from podium.db.access.tokens import Role
from podium.db.stores import ensemble_reader, ensemble_writer, member_replicas
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from tests.service_rig import AT, ServiceRig


def ensemble(service: ServiceRig, name: str) -> int:
    """An ensemble that is being built, of three members, two of them a quorum."""
    sweep_id = service.sweep()
    trials = [service.trial(sweep_id, number, 0.5) for number in range(3)]
    return service.ensemble(sweep_id, trials, name)


def make_ready(service: ServiceRig, ensemble_id: int) -> None:
    service.ready(ensemble_id, [f"unix:{service.settings.runtime.root}/{number}" for number in range(3)])


def fail_members(service: ServiceRig, ensemble_id: int, count: int) -> None:
    """Write what the host writes when members cannot be loaded."""
    with service.database.write() as connection:
        for member in ensemble_reader.get(connection, ensemble_id).active.members[:count]:
            member_replicas.change(connection, member.replicas[0].id, MemberState.FAILED)


def readiness(service: ServiceRig, role: Role | None = None) -> tuple[int, Any]:
    """Status and body of `/readyz` at a gateway that has just started."""
    with service.client(role, service.gateway()) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        answer = client.get("/readyz")
        assert client.get("/v2/health/ready").status_code == answer.status_code
        return answer.status_code, answer.json()


def test_gateway_without_ensembles_is_ready(service: ServiceRig) -> None:
    assert readiness(service) == (200, {"ready": True})
    assert readiness(service, Role.VIEWER) == (200, {"ready": True, "ensembles": []})


def test_ensemble_that_is_built_does_not_count_and_one_below_its_quorum_does(service: ServiceRig) -> None:
    first, second = ensemble(service, "first"), ensemble(service, "second")
    make_ready(service, first)
    assert readiness(service) == (200, {"ready": True}), "nobody expects answers of the second one yet"
    make_ready(service, second)
    fail_members(service, second, 1)
    assert readiness(service) == (200, {"ready": True}), "two members are the quorum"
    fail_members(service, second, 2)
    assert readiness(service) == (503, {"ready": False})
    shown = [{"name": "first", "ready": True}, {"name": "second", "ready": False}]
    assert readiness(service, Role.VIEWER) == (503, {"ready": False, "ensembles": shown})
    assert readiness(service, Role.NODE) == (503, {"ready": False}), "the role of nodes is not that of a viewer"


def test_ensemble_that_was_stopped_does_not_count(service: ServiceRig) -> None:
    ensemble_id = ensemble(service, "stopped")
    make_ready(service, ensemble_id)
    fail_members(service, ensemble_id, 3)
    assert readiness(service)[0] == 503
    with service.database.write() as connection:
        ensemble_writer.change(connection, ensemble_id, EnsembleState.STOPPED, "", AT)
    assert readiness(service) == (200, {"ready": True})
