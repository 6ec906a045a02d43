"""Sweeps over REST: submit, control, sweep files, charts, importance, import and export.

Runs in the api process.

Modules:
    chart_axes                  Chart axes of the parameters of a sweep: kind, range and choices
    chart_routes                Chart data of a sweep over REST: trials as points, and learning curves
    comparison_routes           Several sweeps side by side over REST: histories of the best value, and one table of
                                trials
    export_routes               Exports the trials of a sweep over REST: CSV, Parquet, JSON lines
    export_writers              Writes the trials of a sweep as CSV, Parquet or JSON lines, chunk by chunk
    failure_routes              Failures of a sweep over REST: failed trials, grouped by normalized message
    importance_process          Computes parameter importance in the background, one process at a time; results are
                                stored in the database
    importance_routes           Parameter importance over REST: computed in the background, and updated as trials finish
    installed_package_routes    Provenance of a sweep over REST: the packages installed when it was submitted
    multi_metric_curve_routes   Several metrics of the trials of a sweep in one request, as curves or bands, for a grid
                                of charts
    population_schedule_routes  Populations over REST: the intervals of all trials, and the schedule of one
    saved_view_routes           Saved views of the page of a sweep over REST: list, save, delete
    study_import_routes         Imports a study that ran elsewhere over REST, as a finished sweep
    sweep_file_routes           Editing of sweep files over REST, for editors and forms: check, change, submit, show
    sweep_metadata_routes       What users write about sweeps over REST: name, description, tags, project, star,
                                archive; and projects
    sweep_response              Composes the response for a sweep: its row, best trial, budget, devices and estimated
                                time left
    sweep_routes                Sweeps and code bundles over REST: submit, list, show, pause, resume, stop, cancel,
                                release, extend
    time_left                   Estimates the remaining time of a sweep from its recent trials
    trial_timeline_routes       The timeline of a sweep by trial over REST: when each attempt was queued and when it ran
"""
