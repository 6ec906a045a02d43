"""The sweep file as a pydantic model: search space, metric, budget, program, data, early termination.

Runs in the CLI, the api process and the scheduler.

Modules:
    block_messages         Suggests the mapping to write where a sweep file has a scalar or a list in place of one
    budget                 The `budget` block of the sweep file: limits that end the sweep
    builtin_catalog        The built-in models, data sets and metrics, and the settings of each model
    command_line           Expands the macros of a script's command, with the syntax of W&B sweeps
    data_source            The `program.data` block of the sweep file: the data set that trials train on
    distribution_names     W&B's distribution names, converted to `values` or a range where possible
    early_termination      The `early_terminate` block of the sweep file: the pruner
    grid                   A grid over conditional parameters: its size, and its points by index in a seeded order
    json_schema            The JSON Schema (draft 2020-12) of the sweep file, generated from the models
    limits                 The `resources`, `limits` and `retries` blocks of the sweep file
    metric                 The `metric` block of the sweep file: an objective
    metric_patterns        Extracts metrics from a script's output with the patterns of `program.metrics`
    optuna_classes         A custom Optuna sampler or pruner class in a sweep file, `module:Class` with arguments
    program                The `program` block of the sweep file: a built-in model, a function or a script
    retention              The `keep` block of the sweep file: which files of finished trials are kept
    search_methods         The registry of search methods: names, descriptions, requirements. Pure
    search_space           A parameter of the search space: constant, choices, range or distribution
    spec_errors            Converts pydantic's validation errors to problems with the keys of the sweep file
    stop_conditions        The `stop` block of the sweep file: conditions that end a trial as finished
    strict_model           The strict pydantic base model of all blocks of the sweep file, and its errors
    suggest_distributions  The arguments of `trial.suggest_*` as a parameter of a sweep file, {"min": 0.0, "max": 1.0}
    suggested_parameters   Checks parameters that user code suggests in addition to those of the sweep file (define-by-
                           run)
    sweep_spec             The model of the sweep file, REST body and JSON Schema, and its checks between keys
    synonyms               Names of Optuna, Ray Tune and W&B for the keys and values of a sweep file, for hints
    type_messages          Messages for values of the wrong type or out of bounds, from pydantic's errors
    validation             The `validation` block of the sweep file: splits and cross-validation
"""
