"""The search of a sweep: samplers, pruners, grids, define-by-run parameters.

Only this room and `studies` import Optuna. Runs in the scheduler and in search processes.

- To add a method: "Add a search method" in CONTRIBUTING.md.
- One sweep: `sweep_search` (ask, report, tell), on `optuna_study`, `frozen_trials`, `pruners`, `custom_sampler`.
- Threads and processes: `scheduler_search_threads`, `search_client`, `search_process`; `custom_class_check_process` for
  sweep files.
- Optuna: `optuna_private` (its private API), `optuna_distributions`, `optuna_trial_states`, `custom_class_loading`.

Modules:
    custom_class_check_process     Checks the sampler and pruner classes of a sweep file, in a process of its own that
                                   CLI and api start
    custom_class_loading           Imports, checks and constructs the sampler and pruner classes that sweep files name.
                                   Scheduler and search processes
    custom_sampler                 The user's custom sampler, loaded once for the whole sweep. Search process
    frozen_trials                  Converts stored trials to Optuna's frozen trials. Scheduler and search processes
    non_optuna_random_draws        Random draws from distributions that Optuna lacks, and of weighted choices. Pure
    optuna_distributions           Optuna's distributions for parameters. Scheduler and search processes, import and
                                   export of studies
    optuna_private                 All uses of Optuna's private API, in one adapter. Scheduler and search processes,
                                   import and export of studies
    optuna_study                   The Optuna study of one sweep, in memory, with the trial numbers of the sweep.
                                   Scheduler and search processes
    optuna_trial_states            States and constraints of trials in Optuna's terms. Scheduler and search processes,
                                   import and export of studies
    pruners                        Optuna's pruners for early termination, on a separate study. Scheduler process
    samplers                       The sampler of each trial: one builder for each search method. Scheduler and search
                                   processes
    scheduler_search_threads       One thread per sweep for its search, so that a slow search does not block the loop.
                                   Scheduler process
    search_client                  The client of the search process: start it, send it trials, receive its proposals.
                                   Scheduler process
    search_process                 Entry point of the search process, for samplers that are slow or import torch
    seeded_generators              NumPy's generator for one trial, constructed 25 times as fast as usual. Scheduler and
                                   search processes
    sweep_search                   The search of one sweep: ask, report, tell
    trials_bounding_proposal_time  Numbers of trials that bound the time of a proposal. Scheduler and search processes
"""
