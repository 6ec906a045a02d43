"""The custom sampler and pruner classes that passed their check, so that a form does not repeat it; api process."""

from __future__ import annotations

MOST = 100


class CustomClassCheckCache:
    """Owned by the service of a process. Each check is a string that identifies classes and their arguments."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._passed: set[str] = set()

    def __contains__(self, check: str) -> bool:
        return check in self._passed

    def __len__(self) -> int:
        return len(self._passed)

    def add(self, check: str) -> None:
        """Remember a passed check, up to `most` of them."""
        if len(self._passed) < self._most:
            self._passed.add(check)
