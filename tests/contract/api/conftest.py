"""The fixtures of the unit tests: a service without its processes, and the command line."""

from __future__ import annotations

from tests.unit.conftest import podium, portal, service

__all__ = ["podium", "portal", "service"]
