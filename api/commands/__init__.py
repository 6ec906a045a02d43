"""The commands of `podium`, one file per noun."""
