"""Checks of what must hold between rows, files and processes; `podium doctor`.

Runs in a process of its own.
"""
