"""The scheduler: hands ready trials to free slots, passes results to the searches, and records all changes.

Runs in the scheduler process; `main` is its entry point.

- Loop: `scheduler` reads, calls `decide`, writes, acts; `change_buffer` and `database_recorder` write;
  `action_dispatcher` calls the searches, `study_query_thread` and `file_cleanup_thread` with
  `retention_cleanup`.
- Decisions, pure: `decide` (by message), `attempt_event_handler` (what slots report), `search_answer_handler`,
  `command_handler` (what clients request), `trial_placement` (who gets a free device), `sweep_endings`,
  `predecessor_waits` (what may start); `changes_and_actions`, with `search_and_cleanup_actions`, is their result.
- State, by owner: `scheduler_state`, with `active_sweeps` (`live_sweep`, `live_trial`, `ask_pacing`, `device_seconds`,
  `sweep_budget`), `device_ledger`, `device_availability`, `fair_share`, `disk_space_gate`, `slot_watchdog`.
- Helpers: `assignment_builder` (what a slot gets), `past_trials_for_search` (what a search gets),
  `wait_and_idle_reasons`.

Modules:
    action_dispatcher              Executes the actions of the scheduler: calls the searches, the study reader and the
                                   cleanup thread. Never blocks
    active_sweeps                  The unfinished sweeps and trials, by id. Pure
    ask_pacing                     Decides how many trials to request from the search of a sweep, and how long to wait
                                   for each. Pure
    assignment_builder             Builds the assignment that a slot needs to run an attempt. Pure
    attempt_deadlines              When attempts have ended at the latest, by their time limits. Pure
    attempt_end_handler            Decisions on the ends of attempts: whether the trial ends as well, or runs again.
                                   Pure
    attempt_event_handler          Decisions on the events of attempts. Pure
    attempt_start                  Starts the next attempt of a trial, on one device or on several. Pure
    change_buffer                  Buffers the scheduler's changes until they are written
    changes_and_actions            A decision of the scheduler: changes to write and actions to execute, at an instant.
                                   Pure
    cluster_file_transfer_token    The token by which the nodes of an existing Ray cluster get and send files
    command_handler                Decisions on the client requests for sweeps and trials, as stored in the database.
                                   Pure
    database_recorder              Writes changes to the database, one transaction each
    decide                         Decides, for each message, the changes to write and the actions to execute. Pure
    device_availability            Decides which devices accept trials: drained after failures, reserved by ensembles,
                                   idle and why. Pure
    device_ledger                  The device ledger: the slot on each device, and why devices accept no trials. Pure
    device_seconds                 The device-seconds of the running attempts of a sweep, as sums that each event
                                   updates. Pure
    disk_space_gate                Decides whether the data disk allows new trials. Pure
    exploit_and_explore            The two steps of population-based training between two intervals: exploit and
                                   explore. Pure
    fair_share                     Decides which sweep gets a free slot, by device-seconds and priority, without
                                   starvation. Pure
    file_cleanup_thread            Removes files of lost attempts, and files that sweeps do not keep. A thread of the
                                   scheduler process
    gang                           The devices and ranks of one attempt on several devices, and how it ends. Pure
    gang_aware_placement           Places trials while a sweep has trials of several devices: reservation and backfill.
                                   Pure
    gang_event_handler             Decisions on the ranks of attempts on several devices: start, failure, stall, end.
                                   Pure
    gang_reservation_and_backfill  Decides which devices a trial of several devices gets, and which trials may pass one
                                   that waits. Pure
    lease_confirmation             Asks the database whether this scheduler may still act on slots
    live_population                The trials of a sweep that are trained in intervals, and the decision between two
                                   intervals. Pure
    live_slot                      A slot as the scheduler knows it: its attempt, and the commands to send next. Pure
    live_sweep                     An unfinished sweep in the scheduler's memory. Only its own methods change it. Pure
    live_trial                     An unfinished trial in the scheduler's memory, and its retry budget. Pure
    main                           Entry point of the scheduler process: connects Ray, Optuna and the database, and runs
                                   the loop
    past_trials_for_search         The past trials that a search starts with: those of the sweep, and of earlier sweeps.
                                   Pure
    population_intervals           Begins and ends the intervals of trials whose sweep has a population. Pure
    predecessor_waits              Decides which sweeps no longer wait for their predecessors, and why others do. Pure
    read_pacing                    Decides when the scheduler reads the requests of clients, and when it explains waits.
                                   Pure
    retention_cleanup              Removes weights, checkpoints and artifacts that sweeps do not keep. The cleanup
                                   thread of the scheduler process
    scheduler                      The loop of the scheduler process: read, decide, write, act
    scheduler_epoch_file           The epoch of the last scheduler that opened slots, outside the database
    scheduler_state                The state of the scheduler, by owner. Pure
    search_and_cleanup_actions     The actions that the scheduler decides on, for other threads to execute. Pure
    search_answer_handler          Decisions on the answers of searches: trials, pruning decisions and values. Pure
    slot_autoscaler                Requests the slots that the sweeps need, and releases those that are idle for long.
                                   Pure
    slot_watchdog                  Finds stuck slots: without a heartbeat, or past the time limit of their attempt. Pure
    slots_per_attempt              The slots that each attempt of a sweep needs: one, several of one device, or several
                                   devices. Pure
    study_query_thread             Answers the queries of `trial.study`, in a thread of the scheduler process that may
                                   block
    sweep_budget                   Tracks the budget of an unfinished sweep and its usage. Pure
    sweep_endings                  Decides the end of sweeps: finished, failed, cancelled. Pure
    trial_placement                Places trials on free slots, plans the asks, and explains why sweeps and devices
                                   wait. Pure
    wait_and_idle_reasons          The reasons why a sweep waits or a device is idle, as text for users. Pure
"""
