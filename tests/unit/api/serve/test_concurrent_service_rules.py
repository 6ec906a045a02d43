"""Which services may run next to the leader of their database."""

from __future__ import annotations

import pytest

from podium.api.serve.concurrent_service_rules import another_leads, refuse
from podium.db.stores.leader_election import LeaderState
from podium.db.stores.leader_lease import Contender, Lease
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import ServiceError

LEADER = Contender("a-1", "alpha", "http://10.0.0.5:8300", "session_1")
SELF = Contender("b-1", "beta", "http://10.0.0.6:8300", "session_1")


def settings(*, standby: bool) -> ServiceSettings:
    return ServiceSettings("/data", "/run", standby=standby)


def state(age_s: float, epoch: int = 1, *, leads: bool = False) -> LeaderState:
    return LeaderState(epoch if leads else 0, Lease(epoch, LEADER, age_s, 60.0))


@pytest.mark.parametrize(
    ("now", "earlier", "other_leads"),
    [
        (state(0.5), state(2.5), True),  # renewed in between
        (state(3.5), state(2.5), False),  # perhaps it was killed
        (state(0.5, 2), state(0.1, 1), True),  # another one has taken it
        (state(0.5), None, False),
        (state(0.5), LeaderState(0, None), False),
        (state(0.5, leads=True), state(2.5), False),
    ],
)
def test_leader_runs_if_its_lease_was_renewed_since(
    now: LeaderState, earlier: LeaderState | None, other_leads: bool
) -> None:
    assert another_leads(now, earlier) is other_leads


def test_second_service_without_standby_is_refused() -> None:
    with pytest.raises(ServiceError, match=r"uses this database and leads: http://10.0.0.5:8300 on alpha; .*--standby"):
        refuse(settings(standby=False), SELF, LEADER)
    refuse(settings(standby=True), SELF, LEADER)


@pytest.mark.parametrize(("ray", "said"), [("session_2", "another Ray cluster than"), ("", "a Ray of its own, not")])
def test_standby_that_reaches_another_ray_is_refused(ray: str, said: str) -> None:
    leader = Contender("a-1", "alpha", "http://10.0.0.5:8300", ray)
    with pytest.raises(ServiceError, match=f"uses {said} the one at --ray-address"):
        refuse(settings(standby=True), SELF, leader)
