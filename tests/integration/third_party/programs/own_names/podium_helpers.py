"""A module whose name starts as Podium's."""

BONUS = 0.5
