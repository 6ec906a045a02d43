"""One store per aggregate: reads and writes of its rows.

Runs in the api process, the scheduler and the ensemble host.
"""
