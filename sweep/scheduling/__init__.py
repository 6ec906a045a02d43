"""The scheduler: hands ready trials to free slots, passes results to the searches, and records all changes.

Runs in the scheduler process; `main` is its entry point.

- Loop: `scheduler` reads, calls `decide`, writes, acts; `change_writer` and `recorder` write; `action_executor` calls
  the searches, `study_queries` and `cleanup` with `retention`.
- Decisions, pure: `decide` (by message), `attempts` (what slots report), `command_handler` (what clients request),
  `placement` (who gets a free device), `sweep_endings`; `decisions` are their results.
- State, by owner: `scheduler_state`, with `active_sweeps` (`live_sweep`, `live_trial`, `ask_pacing`, `device_time`,
  `sweep_account`), `device_ledger`, `device_health`, `fair_share`, `disk_gate`, `slot_watchdog`.
- Helpers: `assignments` (what a slot gets), `search_inputs` (what a search gets), `wait_reasons`.
"""
