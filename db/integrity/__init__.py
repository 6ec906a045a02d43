"""Checks of the invariants between rows, files and processes; `podium doctor`.

Runs in a process of its own.

Modules:
    file_and_process_checks     Invariants of files and processes against the database
    invariant                   An invariant of the database as a query that finds its violations
    main                        Entry point of `podium doctor`: checks the invariants of rows, files and processes
    metric_summary_checks       Invariants of the summaries of metrics: they are what the points give
    node_checks                 Invariants of the nodes of a running service, by their last reports
    parameter_column_checks     Invariants of the columns of parameters: they are what `trial_params` has
    population_interval_checks  Invariants of the intervals of populations, as SQL queries
    postgres_check              `podium db check` on PostgreSQL: the rows, and what PostgreSQL itself finds; read-only
    row_checks                  Invariants of the database rows as SQL queries that find breaches
    services_in_use             Which services use a data directory and its database, also on other machines
    undelivered_notifications   What did not reach the targets of notifications
    usage_checks                Invariants of what attempts used, as SQL queries
"""
