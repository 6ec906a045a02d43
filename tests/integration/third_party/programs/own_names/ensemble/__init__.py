"""The user's package of the same name as one of Podium's."""
