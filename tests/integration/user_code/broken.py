"""Has a mistake on line 3."""

nothing = 1 / 0
