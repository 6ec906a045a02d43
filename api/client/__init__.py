"""The Python client and the objects for notebooks; imports no command line.

Runs in the user's process and in the CLI.

Modules:
    client                                The Python client: the resources of the REST API as methods
    connection                            HTTP to one service: retries while it restarts, pagination, and errors from
                                          its answers
    data_frame                            A sweep's trials as a pandas data frame
    device_responses                      The REST responses about devices
    ensemble_calls                        The ensembles of a service as methods of the Python client
    ensemble_responses                    The REST responses about ensembles, evaluations and predictions
    ensemble_traffic_and_drift_responses  The traffic, the events and the drift of an ensemble as the REST API returns
                                          them
    import_export_calls                   Exports of sweeps and imports of studies as methods of the Python client
    log_following                         Follows the log of a trial over all of its attempts
    mlflow_export                         Exports a sweep as an MLflow run with one child run per trial
    multi_metric_curve_responses          Curves of several metrics as the REST API returns them, and as rows of a table
    node_responses                        The REST responses about nodes
    notebook_objects                      Sweeps, trials and ensembles as objects, displayed by notebooks
    optuna_studies                        Optuna studies of the client: the only module of `api` that uses Optuna
    readiness_responses                   The REST responses about the readiness of the service
    service_for_command                   A service for one command: the running one, or one started for the command
    shell_quoted_commands                 `podium` commands in messages, quoted for a shell and for the right data
                                          directory
    sweep_chain_submission                Submits several sweep files, as a chain if wanted: each starts when the one
                                          before has finished
    sweep_export                          Exports a sweep to a file, an Optuna study, TensorBoard or MLflow, by format
                                          name or file suffix
    sweep_file_document                   Reads a sweep file as the document to submit, and locates errors of the
                                          service in it
    sweep_file_lint                       Notes on a valid sweep file, and checks of it that need a service
    sweep_html                            The HTML of a sweep in notebooks: plain HTML and SVG without scripts, all text
                                          escaped
    sweep_organization_calls              Details of sweeps, projects, views and search as methods of the Python client
    sweep_organization_responses          The REST responses about projects, saved views, search and comparisons
    sweep_responses                       The REST responses about sweeps
    tensorboard_export                    Exports a sweep's trials as TensorBoard runs with hyperparameters, objectives
                                          and curves
    token_responses                       The REST responses about tokens and logins
    trial_responses                       The REST responses about trials, their attempts and files
"""
