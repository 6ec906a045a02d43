"""The sweep file as a pydantic model: search space, metric, budget, program, data, early termination.

Runs in the CLI, the api process and the scheduler.
"""
