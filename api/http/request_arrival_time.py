"""The time at which a request had arrived completely, from which its deadline counts; api and gateway.

Between that time and the call of the endpoint, the event loop answers other requests: milliseconds under load.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from starlette.requests import HTTPConnection

EXTENSION = "podium.arrival"  # of the ASGI scope: seconds on the monotonic clock


def note(scope: MutableMapping[str, Any], arrived_s: float) -> None:
    """Store the time in the scope of a request."""
    scope["extensions"][EXTENSION] = arrived_s


def arrived_s(request: HTTPConnection) -> float | None:
    """The time (monotonic); None if it is not known, as for a request that waited for the answer to an earlier one."""
    found: float | None = request.scope.get("extensions", {}).get(EXTENSION)
    return found
