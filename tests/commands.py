"""`podium` in the test's own process: its exit code and what it said."""

from __future__ import annotations

from collections.abc import Callable

Podium = Callable[..., tuple[int, str, str]]  # `podium("sweep", "list")`: exit code, standard output, standard error
