"""State changes, client commands and scheduler messages, as plain values.

Runs in the api process and the scheduler.
"""
