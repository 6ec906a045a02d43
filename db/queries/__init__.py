"""Read-only pages, tables and chart data.

Runs in the api process; study pages run in the scheduler.
"""
