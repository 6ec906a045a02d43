"""`podium` in the test process: its exit code and output."""

from __future__ import annotations

from collections.abc import Callable

Podium = Callable[..., tuple[int, str, str]]  # `podium("sweep", "list")`: exit code, standard output, standard error
