"""A package that cannot be imported."""

from __future__ import annotations

raise OSError("as planned")
