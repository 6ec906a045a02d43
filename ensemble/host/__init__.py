"""The ensemble host: places, watches and replaces workers, builds and evaluates ensembles.

Runs in the host process; `main` is its entry point.

Modules:
    background_task_runner        Runs slow work in a thread next to the host's loop: evaluations, ensembles of finished
                                  sweeps
    cluster_worker_launcher       Launches workers on this machine or on nodes, through the agents of these
    desired_replicas              The replicas that should exist: which members each runs, and the name of its process
    ensemble_status               The status of an ensemble, derived from the states of its replicas
    evaluator                     Evaluates a running ensemble: requests its predictions on a split and scores them
    host_loop                     The host's loop: reconciles replicas with the database and updates the state of each
                                  ensemble
    live_replica                  The in-memory state of one replica's process, with its timeouts and restart delays
    main                          Entry point of the ensemble host: connects the database, and runs the loop
    member_placement              Assigns members to devices: one member for each device while there are enough
    node_worker_handle            A worker on another machine, followed through the agent of its node
    node_worker_messages          What the host asks the agent of a node about workers there, and the answers
    precision_decisions           Decides the precisions of new members: measures them on calibration rows, and stores
                                  what is used
    precision_measurement_runner  Runs measurements of precisions in processes that the process template forks, one at a
                                  time
    queued_evaluation_runner      Runs queued evaluations, oldest first
    replica_controller            Reconciles replicas with the database: adopts, places, watches, restarts and stops
                                  their processes
    requested_ensemble_builder    Builds the ensembles that sweeps request with an `ensemble:` block, once each
    worker_launcher               Launches worker processes from the process template, and follows their reports
    worker_launcher_interface     The port through which the host starts and polls worker processes
"""
