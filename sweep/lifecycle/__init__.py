"""State changes, client commands and scheduler messages, as plain values.

Runs in the api process and the scheduler.

- Scheduler: `scheduler_inbox_messages`, `scheduler_interfaces` (its ports), `stored_sweeps` (what it reads),
  `database_changes` (what it writes), `pending_commands` (what clients request), `sweep_failure_criteria`.
- Clients: `allowed_commands`, `imported_sweep`, `warm_start_compatibility`.
- Results: `budget_usage`, `pareto`.

Modules:
    allowed_commands          The commands that a sweep or trial accepts in each state, and the resulting state. Pure
    budget_usage              Computes how much of its budget a sweep has used, and which limit is reached. Pure
    database_changes          The changes that the scheduler records in the database, as plain values
    dependent_sweep_release   Sweeps that wait for their predecessors: when one is released, and the values that it
                              gets. Pure
    imported_sweep            Trials that ran elsewhere, as a client imports them as a finished sweep. Pure
    pareto                    Pareto fronts: the results that no other result dominates. Pure
    pending_commands          The commands of clients that the scheduler has not executed yet, as plain values
    scheduler_inbox_messages  The messages in the scheduler's inbox, from slots, searches and the study thread
    scheduler_interfaces      The ports of the scheduler: the slots, the searches and the recorder that it calls
    slot_demand               What the sweeps need of a pool whose slots come and go
    stored_sweeps             The stored sweeps and trials that the scheduler reads, as plain values
    sweep_failure_criteria    When a sweep fails: too many consecutive failures, or the same error from the start. Pure
    warm_start_compatibility  Which trials of earlier sweeps are compatible with a new sweep and warm-start it. Pure
"""
