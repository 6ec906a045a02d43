"""The service that a request reaches: its settings and its database. Imports no web framework; api and gateway."""

from __future__ import annotations

from dataclasses import dataclass, field

from podium.db.schema.database import Database
from podium.db.stores.attempt_totals import EndedTotals
from podium.sweep.runtime.component_startup_and_heartbeats import wake_component, wake_gateways
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.specfile.custom_class_check_cache import CustomClassCheckCache


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """Settings and database of one service, and what its process remembers of it."""

    settings: ServiceSettings
    database: Database
    custom_class_check_cache: CustomClassCheckCache = field(default_factory=CustomClassCheckCache)
    ended_totals: EndedTotals = field(default_factory=EndedTotals)

    def wake(self, component: str) -> None:
        """Notify `scheduler` or `host` that the database holds something new for it."""
        wake_component(self.settings.runtime.wake_socket(component))

    def wake_gateways(self) -> None:
        """Notify every gateway process that the database holds something new for it."""
        wake_gateways(self.settings)
