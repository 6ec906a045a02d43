"""From text to a sweep spec and back: YAML, TOML, JSON and W&B files, scripts, edits, checks of code and data.

Runs in the CLI and the api process; what imports user code runs in a process of its own.

Modules:
    code_bundles               User code as a zip file with a content hash: packed by the client, checked and unpacked
                               by the api process
    custom_class_check         Checks custom sampler and pruner classes of a sweep in a subprocess that imports Optuna
    custom_class_check_cache   The custom sampler and pruner classes that passed their check, so that a form does not
                               repeat it
    data_header_check          Checks a sweep against the headers of its data files
    document_parser            Parses YAML 1.2, JSON and TOML documents with the line and column of each key
    form_edits                 Applies a form's edits to the text of a sweep file, key by key; values are YAML, so that
                               1.0 stays 1.0
    program_existence_check    Checks that the function, command or script of a sweep exists, without importing user
                               code
    random_configurations      Samples random configurations from a search space, without Optuna, for previews
    ray_tune_space             Converts Ray Tune's search space objects to parameters of a sweep file
    slow_import_detection      Finds slow packages that user code imports, by parsing it without importing anything
    source_preserving_numbers  Numbers that keep their source text, so that 1e-4 stays 1e-4 when a sweep file is edited
    spec_file                  Reads and checks a sweep file (YAML 1.2, TOML or JSON; Podium's or W&B's keys), with line
                               numbers in errors
    spec_lint                  Hints for valid sweep files that may not do what their author expects, for `podium sweep
                               validate`
    spec_summary               Summarizes a sweep spec as text and tables: search space, grid size, limits
    sweep_text_check           Checks the text of a sweep file, as an editor holds it, with line and column of each
                               problem
    text_files                 Reads a user's text file and rejects large, binary and non-UTF-8 files
    toml_lines                 Finds the line of each key in a TOML text, which tomllib does not report
    tuning_script_conversion   Converts a script for Ray Tune or Optuna, or a JSON search space, to a sweep file
                               document
    wandb_file                 Converts a Weights & Biases sweep file to an equivalent Podium sweep file
    wandb_metric_source        Determines how the script of a W&B sweep reports its metric: `wandb.log`, a file or its
                               output
    wandb_parameters           Converts the search space of a W&B sweep file: dotted names for nested parameters, W&B's
                               defaults
    yaml_edits                 Changes values in the text of a YAML sweep file and keeps comments and formatting of the
                               rest
    yaml_writer                Writes a document as readable YAML: short blocks on one line, quotes only where needed
"""
