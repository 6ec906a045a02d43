"""Plain values of the domain: trials, failure causes, errors, references. Standard library only.

Imported in every process.

Modules:
    attempt_assignment               The assignment of an attempt to a slot: its identity, parameters, program and
                                     limits
    attempt_outcomes                 What a trial process reports of its attempt, and why a slot kills it
    code_references                  References to user functions, `module:function`, and reserved module names
    constraints_and_user_attributes  Constraints and user attributes of a trial: what it may set, and whether it is
                                     infeasible
    decimal_steps                    Steps of a range in decimal arithmetic, so that 3 steps of 0.1 are 0.3
    device                           A device and its slot, as the scheduler knows them, and the names of devices
    device_state                     The states of a device and their transitions
    drained_devices                  Devices that are drained: a GPU by its UUID, since its number may change when the
                                     machine starts
    errors                           All errors that a user may see
    excluded_ray_node                A node of an existing Ray cluster that the service does not use
    failure_cause_detection          Classifies exceptions and error output of a trial by failure cause
    failure_causes                   The causes of failed attempts: all of them, those of the infrastructure, and those
                                     of memory
    failure_message_normalization    Makes messages of failures comparable: numbers, paths and addresses in them become
                                     placeholders
    logged_image_names               The files of images that trials log: name and step are in the name of the file
    megabytes                        Sizes of memory in MB of 2^20 bytes, as in the `limits` of sweep files
    nested_parameters                Converts parameters with dotted names to nested dictionaries, for code written for
                                     W&B or Ray Tune
    node_state_from_report           The state of a node, computed from its last report
    note_and_tag_checks              Checks the note and the tags that users attach to a trial
    number_patterns                  Regular expressions for numbers in printed text: `auto`, `${number}`, truncated
                                     matches
    objective_reduction              Reduces the reported values of a trial to its result: last, min or max
    predictions_file_keys            Names in the file of a user's predictions
    range_sampling                   Samples numbers from a range of the search space without Optuna
    return_value_conversion          Converts the return value of a trial's function to the values of its objectives
    running_sweep_warnings           Warnings of a running sweep: codes, messages, and checks of results and stop
                                     metrics
    saved_network_manifest           The metadata of a saved user network, from which ensembles rebuild it
    search_messages                  The values exchanged with the search: earlier trials, proposals, pruning decisions
    slot_events                      The events of an attempt, from its start to its end, as its slot reports them
    states                           The states of sweeps and trials with their transitions, and the pending requests on
                                     a trial
    sweep_metadata_checks            Checks what users write about sweeps and name them: names, descriptions, projects
    sweep_wait_reason                Why a sweep waits, apart from the reason of its state
    trial_seed                       The seed of a trial, the same for each of its attempts
    usage_samples                    Samples of the resources that an attempt uses: processor, memory, storage, GPU
"""
