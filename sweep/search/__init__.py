"""The search of a sweep: samplers, pruners, grids, define-by-run.

Only this room and `studies` import Optuna. Runs in the scheduler and in search processes.
"""
