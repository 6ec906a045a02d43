"""A user's own package of that name."""

ANSWER = 2
