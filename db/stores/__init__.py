"""All modules that write rows, one store per aggregate, and the reads that these need.

A read that no store uses is in `db/queries`. Runs in the api process, the scheduler and the ensemble host.

Modules:
    attempt_totals                       Sums over the attempts of a sweep: the time on its devices, and how busy these
                                         were
    attempt_usage                        What attempts used, as samples that become coarser with age
    budget_and_best_history              Reads how much of its budget a sweep has used, and the history of its best
                                         value
    current_attempt_condition            The SQL condition of the current attempts of trials
    device_command_writer                Commands of clients for devices, validated and written in one transaction:
                                         drain, return
    device_history                       The history of device states with reasons: written by the scheduler, read by
                                         the timeline
    devices                              Devices with their running trials and ensemble members
    ensemble_evaluations                 Evaluations of ensembles: queued by the api, run by the ensemble host
    ensemble_host_lease                  The lease of the ensemble host: one row with an epoch that fences out a
                                         replaced host
    ensemble_reader                      Reads ensembles, versions and members
    ensemble_writer                      Writes ensembles: create, add version, promote, roll back, stop, start, retire
    event_outbox                         The event outbox: a change and its event are one transaction, and clients
                                         follow events by id
    feasible_trial_condition             The SQL condition of trials that violate no constraint
    fenced_database                      A database that refuses reads and writes when another process has taken over
    id_list                              Lists of ids as one parameter of a statement
    imported_sweep_writer                Stores imported trials as a finished sweep
    installed_packages                   Lists of packages installed at the submission of sweeps, stored once by hash
    interval_checkpoint_retention        Which checkpoints of a population are no longer needed, and the record of
                                         removed ones
    leader_election                      Renews the lease of the service that leads, takes it when it has expired, or
                                         stands by
    leader_lease                         The lease of the service that leads: its scheduler and its host may write
    member_candidates                    Trials that can be ensemble members, with their saved files
    member_replicas                      Replicas, the processes that serve ensemble members
    metric_summaries                     Last, lowest and highest value of each metric of each trial, and its non-finite
                                         values
    metrics                              Metric points: one row per trial, name and step
    multi_device_attempt_ranks           The devices and ranks of attempts that have several devices
    nodes                                Nodes as their agents report them, and requests to leave
    notification_outbox                  The outbox of notifications: one row for each event and target
    parameter_columns                    Columns of `trials` with the values of parameters, for filters and sorts
    parameter_importances                Parameter importances of sweeps, as last computed
    population_intervals                 Intervals of the trials of populations: what each starts from, and how it ended
    precompiled_sql_statements           Statements that are given to the driver as text, compiled once for each kind of
                                         database
    retention_plan                       Which files a sweep's retention policy removes, and the record of removed files
    saved_views                          Named views of the page of a sweep: tab, filter, sort and columns, for a
                                         project or for all sweeps
    scheduler_lease                      The scheduler's lease: one row with an epoch that fences out a replaced
                                         scheduler
    sweep_command_writer                 Commands of clients for sweeps, validated and written in one transaction:
                                         pause, stop, extend
    sweep_metadata                       What users write about sweeps: names, descriptions, tags, projects, stars, and
                                         the archive
    sweep_predecessors                   The predecessors of sweeps: names become ids at submission; held sweeps are
                                         read and released
    sweep_warnings                       Warnings of sweeps: at most one per code, deleted when it no longer holds
    sweeps                               Sweeps: accept, read, change state
    trial_annotations                    Notes and tags of trials
    trial_command_writer                 Commands of clients for trials, validated and written in one transaction: stop,
                                         retry, clone, annotate
    trial_params                         Reads the parameters of trials, and their distributions
    trial_reader                         Reads trials with parameters, values, tags and the current attempt
    trial_values_constraints_attributes  Further values, constraints and attributes of ended trials
    trial_writer                         Writes trials and attempts
    warm_starts                          The earlier trials that a sweep starts from: selected by the api at submission,
                                         read by the scheduler
"""
