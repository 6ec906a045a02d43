"""The operations of the service: submit, preview, extend, retry, build; called by every route that offers them.

Runs in the api process; plain functions on a `ServiceContext`, without a web framework.

Modules:
    device_commands                 Drains a device, and returns it to service
    ensemble_building               Builds, previews and changes ensembles
    ensemble_evaluation_submission  Queues the evaluation of an ensemble version, on a split or on posted rows; the host
                                    runs it
    node_commands                   Drains a node, returns it to service, and removes it
    population_schedule_replay      The sweep that repeats the schedule of a trial of a population, as one trial
    sweep_commands                  Changes a sweep: pause, resume, stop, cancel, release, extend
    sweep_metadata_commands         Changes what users write about a sweep, and saves views
    sweep_prerequisite_checks       Checks of a sweep that need the service: uploaded code, data files, packages,
                                    earlier sweeps
    sweep_submission                Submits a sweep as a document or as the text of a sweep file, previews a sweep file,
                                    and imports a study
    trial_commands                  Changes a trial: stop, retry, clone, annotate
"""
