"""Fixtures of exports that need a library of their own; the service that they use has no processes."""

from __future__ import annotations

from tests.service_fixtures import podium, portal, service

__all__ = ["podium", "portal", "service"]
