"""The scheduler: hands ready trials to free slots, passes results to the searches, and records all changes.

Runs in the scheduler process; `main` is its entry point.

- Loop: `scheduler` reads, calls `decide`, writes, acts; `change_writer` and `recorder` write; `action_executor` calls
  the searches, `study_queries` and `cleanup` with `retention`.
- Decisions, pure: `decide` (by message), `attempts` (what slots report), `command_handler` (what clients request),
  `placement` (who gets a free device), `sweep_endings`; `decisions` are their results.
- State, by owner: `scheduler_state`, with `active_sweeps` (`live_sweep`, `live_trial`, `ask_pacing`, `device_time`,
  `sweep_account`), `device_ledger`, `device_health`, `fair_share`, `disk_gate`, `slot_watchdog`.
- Helpers: `assignments` (what a slot gets), `search_inputs` (what a search gets), `wait_reasons`.

Modules:
    action_executor  Executes the actions of the scheduler: calls the searches, the study reader and the cleanup thread.
                     Never blocks
    active_sweeps    The unfinished sweeps and trials, and what their searches answer. Pure
    ask_pacing       How many trials to request from the search of a sweep, and how long to wait for each. Pure
    assignments      What a slot needs to run an attempt. Pure
    attempts         Decisions on what attempts report, and on how they end. Pure
    change_writer    Writes the changes that the scheduler decides; if one cannot be written, all others are. Pure
    cleanup          Removes files that lost attempts leave behind, and files that sweeps do not keep. A thread of the
                     scheduler process
    command_handler  Decisions on what clients request of sweeps and trials, as it is in the database. Pure
    decide           What each message means for the scheduler: changes to write and actions to execute. Pure
    decisions        What the scheduler decides: changes to write, and actions for other threads. Pure
    device_health    Which devices take trials: set aside after failures, reserved by ensembles, idle and why. Pure
    device_ledger    The device ledger: the slot on each device, what runs there, and what to send it next. Pure
    device_time      The device-seconds of the running attempts of a sweep, as sums that each event updates. Pure
    disk_gate        Whether the data disk allows new trials. Pure
    fair_share       Which sweep gets a free slot, by device-seconds and priority, without starvation. Pure
    live_sweep       An unfinished sweep in the scheduler's memory. Only its own methods change it. Pure
    live_trial       An unfinished trial in the scheduler's memory, and its retry budget. Pure
    main             Entry point of the scheduler process: connects Ray, Optuna and the database, and runs the loop
    placement        Decisions on the next trial of each free slot, on asks, and on the reasons for waiting. Pure
    recorder         Writes changes to the database, one transaction each
    retention        Removes weights, checkpoints and artifacts that sweeps do not keep. The cleanup thread of the
                     scheduler process
    scheduler        The loop of the scheduler process: read, decide, write, act
    scheduler_state  The state of the scheduler, by owner. Pure
    search_inputs    What the search of a sweep is built from: its trials, and trials of earlier sweeps. Pure
    slot_watchdog    Which slots are stuck: without a heartbeat, or past the time limit of their attempt. Pure
    study_queries    Answers what trials read through `trial.study`, in a thread of the scheduler process that may block
    sweep_account    The budget of an unfinished sweep and what it has used. Pure
    sweep_endings    Decisions on the end of sweeps: finished, failed, cancelled. Pure
    wait_reasons     Why a sweep waits and why a device is idle, as text for users. Pure
"""
