"""The root of the repository, for tests that read or run its files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
