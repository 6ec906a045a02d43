"""The ensembles that are served, and the version that answers a request; gateway process."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterable

from podium.ensemble.values.ensemble_snapshot import Snapshot, Traffic
from podium.sweep.values.errors import NotFoundError


class ServedEnsembles:
    """The ensembles by id and name."""

    def __init__(self, can_serve: Callable[[Snapshot], bool], rng: random.Random | None = None) -> None:
        """`can_serve`: whether enough members of a canary can be reached. `rng` chooses when to use it."""
        self._can_serve = can_serve
        self._rng = rng or random.Random(secrets.randbits(64))  # noqa: S311 - the choice of a canary is not a secret
        self._by_id: dict[int, Traffic] = {}

    def replace(self, traffic: Iterable[Traffic]) -> None:
        """Serve these ensembles and no others."""
        self._by_id = {item.ensemble_id: item for item in traffic}

    def all(self) -> list[Traffic]:
        """All served ensembles."""
        return list(self._by_id.values())

    def snapshots(self) -> list[Snapshot]:
        """All served versions."""
        return [s for item in self._by_id.values() for s in (item.active, item.canary) if s is not None]

    def by_id(self, ensemble_id: int) -> Traffic | None:
        """The ensemble with this id."""
        return self._by_id.get(ensemble_id)

    def find(self, name: str) -> Traffic | None:
        """The ensemble with this name, or else with this id. Names are unique and never consist of digits only."""
        known = self._by_id.values()
        named = next((item for item in known if item.name == name), None)
        return named or next((item for item in known if str(item.ensemble_id) == name), None)

    def named(self, name: str, version: int | None) -> Snapshot:
        """A version of the ensemble with this name or id. Raises `NotFoundError`."""
        traffic = self.find(name)
        if traffic is None:
            raise NotFoundError(f"ensemble {name!r} is not being served")
        return self.choose(traffic, version)

    def choose(self, traffic: Traffic, version: int | None) -> Snapshot:
        """The version that answers a request: the requested one, else the active one or, by its share, the canary.

        Raises `NotFoundError` if the requested version is not served.
        """
        if version is None:
            return self._pick(traffic)
        for snapshot in (traffic.active, traffic.canary):
            if snapshot is not None and snapshot.version == version:
                return snapshot
        raise NotFoundError(f"version {version} of ensemble {traffic.name!r} is not being served")

    def _pick(self, traffic: Traffic) -> Snapshot:
        if traffic.canary is None or not self._can_serve(traffic.canary):
            return traffic.active
        return traffic.canary if self._rng.random() < traffic.canary_share else traffic.active
