"""The trial process: fork server, attempt, the `trial` object, adapters for W&B, Ray Tune and Lightning.

Runs in the fork server and in trial processes.

Modules:
    artifacts                  Artifacts of a trial: copies of its files, written atomically, limited in number and size
    attempt_rehearsal          Runs attempts without user code before forks, so that all of them share its memory
    attempt_runner             Runs one attempt, from its assignment to its outcome
    checkpoint_methods         The checkpoints that `trial.` offers: saved, and loaded by the next attempt
    constraint_function        `program.constraints`: evaluates the constraints of a trial, as Optuna's
                               `constraints_func`
    directory_checkpoints      Checkpoints that are folders, as in Ray: written atomically, loaded by the trial's next
                               attempt
    ensemble_network_export    Saves the network of a user's trial for ensembles, and verifies that it can be rebuilt
    fork_server                Forks one process per attempt, with the imports of the process template
    gpu_memory_limit           Limits the memory of a GPU that a trial may allocate to its share, before user code runs
    interval_end               Ends an attempt at the end of its interval of training, with a checkpoint
    lightning_callback         A callback for Lightning's Trainer that reports a metric to the trial, and stops a pruned
                               trial
    logged_images              Images that a trial logs by name and step: converted to PNG, written atomically, limited
    metric_downsampling        Downsamples long metric curves before they are sent, so that a million points cost little
    number_conversion          Converts reported numbers and steps of any library to Python's types
    optuna_frozen_trial        Optuna's enums and `FrozenTrial`, as callbacks and `constraints_func` read them
    pickle_free_serialization  Converts nested state to tensors and JSON, so that a checkpoint needs no unpickling
    post_import_hooks          Calls a function immediately after a module is imported
    rank_setup                 What a rank of an attempt on several devices has: `torchrun`'s variables, its devices,
                               the store
    ray_tune_compatibility     Implements `tune.report`, `tune.get_checkpoint` and `tune.get_context` of Ray Tune in a
                               trial
    saved_predictions          Saves the predictions of a user's trial on the rows that select and fit ensembles
    script_interval            The interval of a population that a script trains, and its checkpoint, which is a folder
    script_metrics_file        Reads the metrics file that a script appends to, in lines of bounded length
    script_output_lines        Splits the output of a script into lines of bounded length
    script_runner              Runs an unchanged script as the program of a trial, and collects its metrics
    slot_answer_wait           Waits for the slot's answer to a request of the trial
    slot_channel               The trial process's end of its connection to the slot
    stop_condition_check       Tracks the reports of a trial: its value, and whether a condition of `stop` ends it early
    study_handle               `trial.study`: read access of a trial to its sweep, with the names of `optuna.Study`
    suggest_methods            The `suggest_*` methods of a trial: planned values, and values that the search chooses on
                               request
    suggested_distributions    The distributions of `trial.suggest_*` calls, as in a sweep file: {"min": 0.0, "max":
                               1.0}
    thread_pools               The thread pools of torch in a trial: within an operation, and between operations
    tracebacks                 Formats tracebacks without the frames of Podium around the user's code
    trial_checkpoints          Checkpoints of a trial: written atomically, loaded by its next attempt, without
                               unpickling
    trial_handle               The `trial` object that user code gets
    user_function_runner       Loads the function of a sweep, calls it with a trial or a config, and reports what it
                               yields
    wandb_environment          Environment variables and parameter file for `wandb.init` in a trial
    wandb_sink                 Reports the metrics that a function logs to Weights & Biases
"""
