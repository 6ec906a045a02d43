"""Which services may use one database at the same time; leadership process."""

from __future__ import annotations

from podium.db.stores.leader_election import LeaderState
from podium.db.stores.leader_lease import Contender
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import ServiceError


def another_leads(now: LeaderState, earlier: LeaderState | None) -> bool:
    """Whether another service leads and runs: it has renewed its lease, or taken it, since it was read before."""
    if now.epoch or now.lease is None or earlier is None or earlier.lease is None:
        return False
    return now.lease.epoch != earlier.lease.epoch or now.lease.age_s < earlier.lease.age_s


def refuse(settings: ServiceSettings, contender: Contender, leader: Contender) -> None:
    """Raises `ServiceError` if a service must not start next to the one that leads and runs."""
    if not settings.standby:
        raise ServiceError(
            f"another service uses this database and leads: {leader.url} on {leader.host}; stop it, or start both with "
            "--standby"
        )
    if leader.ray != contender.ray:
        ray = "another Ray cluster than" if leader.ray else "a Ray of its own, not"
        raise ServiceError(
            f"the service that leads, {leader.url} on {leader.host}, uses {ray} the one at --ray-address; a standby "
            "could not continue its trials. Start both with the address of the same cluster"
        )
