"""State changes, client commands and scheduler messages, as plain values.

Runs in the api process and the scheduler.

- Scheduler: `scheduler_messages` (its inbox and ports), `state_changes` (what it writes and reads), `failure_limits`.
- Clients: `commands` (what each state accepts), `imported_trials`, `warm_start`.
- Results: `budget_usage`, `pareto`.
"""
