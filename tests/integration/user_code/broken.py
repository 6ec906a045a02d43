"""Has a syntax error on line 3."""

nothing = 1 / 0
