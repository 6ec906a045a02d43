"""The user's package."""

SCALE = 10.0
