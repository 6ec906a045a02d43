"""`podium.PodiumCallback`, whose module imports Lightning and torch, resolves like every other public name."""

from __future__ import annotations

import podium


def test_lightning_callback_resolves() -> None:
    assert "PodiumCallback" in podium.__all__
    assert podium.PodiumCallback is not None
    assert "PodiumCallback" in dir(podium)
