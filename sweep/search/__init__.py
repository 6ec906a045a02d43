"""The search of a sweep: samplers, pruners, grids, parameters that only trials define.

Only this room and `studies` import Optuna. Runs in the scheduler and in search processes.

- To add a method: an entry in `podium.sweep.spec.search_methods`, and a builder in `samplers`.
- One sweep: `sweep_search` (ask, report, tell), on `study`, `frozen_trials`, `pruners`, `class_sampler`.
- Threads and processes: `search_threads`, `search_client`, `search_process`; `class_check` for sweep files.
- Optuna: `optuna_private` (its private API), `optuna_distributions`, `optuna_states`, `class_loading`.
"""
