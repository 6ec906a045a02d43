"""Code shared by commands: options, tables, progress, completion.

Runs in the CLI process.

Modules:
    bulk_commands                      One command on several resources: each in turn, one line each, exit code 1 if any
                                       was refused
    demo_run                           The work of `podium demo`: a sweep, its best three models, both ensemble modes,
                                       one table
    ensemble_build_options             Options of `podium ensemble build` and `version add`
    ensemble_build_request             The request of `podium ensemble build` and `version add`, checked before it is
                                       sent
    ensemble_output                    Terminal output of ensembles: state, members, evaluations and predictions
    ensemble_traffic_and_drift_output  Terminal output of the traffic, the events and the drift of an ensemble
    id_completion                      Shell completion of ids: the sweeps, devices and nodes of the running service
    lazy_groups                        Command groups that load a command's module only when the command is invoked
    lazy_imports                       Lazy imports of commands: `lazy_imports.Client` loads the HTTP client on first
                                       use
    member_precision_output            Terminal output of the precisions of members: what is used, why, and what was
                                       measured
    row_input                          Reads rows of numbers from a file or standard input, as .npy or JSON
    serve_options                      The options of `podium serve`, built from the declarations of the settings of a
                                       service
    shared_options                     Options that several commands share
    shell_completion_request           The request that shell completion sends to the running service
    sweep_output                       Terminal output of sweeps and trials: counts, best trials, reasons, warnings and
                                       budgets
    sweep_progress                     Progress of sweeps: a live display in a terminal, otherwise one line per change
    terminal_output                    Terminal output: tables, numbers, states and untrusted text
"""
