"""A user's own module of that name."""

ANSWER = 40
