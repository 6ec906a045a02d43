"""The fixtures of the unit tests: a service without its processes, and the command line."""

from __future__ import annotations

from tests.unit.conftest import podium, service

__all__ = ["podium", "service"]
