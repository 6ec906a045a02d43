"""The sweep file as a pydantic model: search space, metric, budget, program, data, early termination.

Runs in the CLI, the api process and the scheduler.

Modules:
    budget                      The `budget` block of the sweep file: limits that end the sweep
    builtin_catalog             The built-in models, data sets and metrics, and the settings of each model
    command_macros              Expands the macros of a script's command, with the syntax of W&B sweeps
    custom_optuna_classes       A custom Optuna sampler or pruner class in a sweep file, `module:Class` with arguments
    data_source                 The `program.data` block of the sweep file: the data set that trials train on
    early_termination           The `early_terminate` block of the sweep file: the pruner
    grid                        A grid over conditional parameters: its size, and its points by index in a seeded order
    json_schema                 The JSON Schema (draft 2020-12) of the sweep file, generated from the models
    metric                      The `metric` block of the sweep file: an objective
    metric_extraction           Extracts metrics from a script's output with the patterns of `program.metrics`
    missing_mapping_hints       Suggests the mapping to write where a sweep file has a scalar or a list in place of one
    names_in_other_tools        Names of Optuna, Ray Tune and W&B for the keys and values of a sweep file, for hints
    population                  `method: {type: pbt, …}` and `{type: replay, …}`: training in intervals
    predecessors                The keys `after` and `fix_from` of the sweep file: sweeps that must end first
    program                     The `program` block of the sweep file: a built-in model, a function or a script
    pydantic_errors             Converts pydantic's validation errors to problems with the keys of the sweep file
    resources                   The `resources` block of the sweep file
    retention_keys              The `keep` block of the sweep file: which files of finished trials are kept
    retries                     The `retries` block of the sweep file
    search_method_registry      The registry of search methods: names, descriptions, requirements. Pure
    search_space                A parameter of the search space: constant, choices, range or distribution
    strict_model                The strict pydantic base model of all blocks of the sweep file, and its errors
    suggested_parameter_checks  Checks parameters that user code suggests in addition to those of the sweep file
                                (define-by-run)
    sweep_metadata_keys         What a sweep file says about the sweep for people: project, description, tags
    sweep_spec                  The model of the sweep file, REST body and JSON Schema, and its checks between keys
    trial_limits                The `limits` block of the sweep file
    trial_stop_conditions       The `stop` block of the sweep file: conditions that end a trial as finished
    type_error_messages         Messages for values of the wrong type or out of bounds, from pydantic's errors
    validation_splits           The `validation` block of the sweep file: splits and cross-validation
    wandb_distributions         W&B's distribution names, converted to `values` or a range where possible
"""
