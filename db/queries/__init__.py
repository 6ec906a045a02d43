"""Reads that no store uses: pages, tables and chart data, and what the scheduler reads when it starts. Write nothing.

Runs in the api process, the process for nodes and the scheduler. What writes rows is in `db/stores`.

Modules:
    attempt_reader               Reads the attempts of trials, and which trials run
    best_trials                  Reads the best trials of a sweep, and its Pareto front
    chart_points                 Trials of a sweep as columns of plain values for charts: all matches, or a sample
    curve_downsampling           Curves reduced to what a chart can show: fewer points, and the mean and the extremes of
                                 several curves
    device_busy_intervals        The attempts of a device in an interval of time, short ones merged by bucket
    device_usage                 What the attempts on each device used in an interval of time, by bucket
    exports                      Reads all trials of a sweep with all their data in batches, for exports
    failure_groups               Groups the failed trials of a sweep by cause and normalized message
    failure_ranges               Compares the parameters of failed trials with those of finished ones: how many finished
                                 in a range
    filter_parser                The words of a filter: `state:failed lr<0.01 -tag:bad` as terms with their positions in
                                 the text
    full_resolution_curves       All points of metrics of several trials as arrays, by step, time, running time or
                                 another metric
    importance_data              The data from which parameter importances are computed
    learning_curves              Downsampled learning curves of the trials of a sweep, the most relevant first
    metric_column_expressions    Figures of metrics as columns of trials, `min(val/loss)`: parsed, selected, sorted by
    multi_metric_curves          Several metrics of the trials of a sweep, small enough for one response: each curve, or
                                 a band per group
    node_write_permission        Whether an attempt runs on a node, which then may write its files
    parameter_summaries          Summarizes the parameter values of a group of trials: the frequent ones, and the range
                                 of numbers
    pending_client_requests      Reads the requests and configurations of clients that the scheduler has not executed
                                 yet
    population_schedules         The intervals of a population, and the schedule of configurations that one trial has
                                 followed
    quick_search                 Sweeps, trials, ensembles and projects by a few typed characters, for the command
                                 palette
    rounded_columns              Columns of numbers rounded to what a chart can show
    scheduler_recovery           Reads the trials that the scheduler needs after a restart
    stored_service_name          The random name of the service, which a migration wrote
    sweep_attempt_timeline       The attempts of a sweep's trials over time, each with the time before it in the queue,
                                 as columns of JSON
    sweep_comparison             Several sweeps side by side: the history of the best value of each, and the trials of
                                 all in one table
    sweep_devices_and_durations  The devices that sweeps use now, and the duration of their recent trials
    sweep_filter                 Filters of the list of sweeps, `project:vision tag:baseline -is:archived`, as SQL
                                 conditions
    trial_artifact_rows          Reads which files trials have saved
    trial_column_expressions     SQL expressions for trial columns from other tables, for filters and sorting
    trial_cursor                 Cursors of pages of trials: the sort key and its values at the end of a page
    trial_filter                 Filters of trials, `state:failed lr<0.01`, as SQL conditions
    trial_group_labels           Trials grouped by a parameter, their tags or their state, with a label for each group
    trial_lookup                 Trials by their ids, and by their numbers in their sweeps
    trial_order                  Sort orders of trials: by number, value, parameter, state or device
    trial_pages                  Reads pages of sorted trials
    trial_study_queries          Reads the answers to the queries of `trial.study`: the best trial, pages of trials, a
                                 curve
    trial_table                  A window of a sweep's trials as columns, filtered and sorted
    trials_with_failure_message  The trials whose current attempt ended with a message, whatever the numbers, paths and
                                 addresses in it are
"""
