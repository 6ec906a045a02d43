"""`podium serve`: starts the components, watches their heartbeats, restarts them.

Runs in the `podium serve` process.
"""
