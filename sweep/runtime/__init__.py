"""Operating system services: files, paths, processes, clocks, resource usage, and the settings of a service.

Imported in every process.

Modules:
    atomic_files                       Atomic writes of files: readers see either the old file or the new one
    attempt_directory                  The paths in the folder of an attempt
    attempt_resource_usage             Measures the resource usage of an attempt: memory of a process, size of its
                                       folders, OOM kills
    certificate_pin                    Trust in one exact certificate, whatever its host names: of a local service, a
                                       head, a node
    clock                              A clock interface that tests can replace
    cluster_certificates               Makes the certificates of a cluster: of the port for nodes, and of Ray with
                                       `--ray-tls`
    code_page_release                  Unmaps the pages of libraries' code that a process has executed
    component_startup_and_heartbeats   Startup, readiness, heartbeats and wake-ups, common to all components of the
                                       service
    component_status_reader            Reads the state of the service's components from the file that `serve` writes
    cuda_devices                       The CUDA devices of a machine, GPUs and MIG instances, as CUDA_VISIBLE_DEVICES
                                       names them
    device_detection                   Detects the GPUs and cores of this machine, and how many slots they give `podium
                                       serve`, without Ray
    disk_full_cause                    Classifies a full disk that ended a trial (ENOSPC, EDQUOT) by failure cause
    disk_space_check                   Checks the free disk space of the data directory before new work starts
    existing_cluster_mode              How a service uses an existing Ray cluster: `podium serve --ray-address`
    fail_points                        Fail points: named places where fault-injection tests kill a process, such as
                                       before a commit
    filesystem_type                    Detects the file system type of a path, since SQLite's locks fail on network file
                                       systems
    fork_without_hooks                 Forks this process without Python's fork hooks, and counts its threads before
    forked_process_logging             Configures logging in forked processes without a write to every logger
    garbage_collection                 Collects garbage less often than Python by default, and not during imports
    gpu_usage                          Reads utilization and memory of GPUs from NVML
    huge_page_collapse                 Collapses anonymous memory into huge pages, so that forks copy 512 times fewer
                                       page-table entries
    incremental_file_removal           Removes files and folders of trials incrementally, so that large ones do not
                                       block the caller
    joined_node_settings               The settings of a node that joins the service of another machine
    kernel_files                       Reads small files of the kernel, such as those of /proc
    key_locks                          One lock for each key, so that several threads do the same work once and
                                       different work at the same time
    layout                             All paths of the data directory
    local_service_discovery            The service of a data directory on this machine, and whether it still runs
    loop_heartbeat                     Heartbeats of a loop whose turns wait for disks, databases and other processes
    outgoing_network_interface         The network interface by which this machine reaches another one, or itself
    package_versions                   The versions of installed packages, recorded with each sweep
    per_service_paths                  The paths of one service in a data directory that several hosts may share: locks,
                                       logs, addresses
    process_cpu_and_connections        What processes do, as the kernel of Linux counts it: processor time, connections,
                                       execution of programs
    process_liveness                   Whether a process still runs, or is traced by a debugger
    process_title                      The name and the command line of a process, as `ps` and `top` show them
    process_trees                      Ends process trees completely: subreapers, death with the parent, killing all
                                       descendants
    process_usage                      Measures the processor time, memory and storage traffic of a process tree
    processes_using_attempt_directory  The processes of a machine that use the folder of an attempt
    ray_tls                            The files with which the processes of Ray on one machine encrypt their
                                       connections
    runtime_directory                  The paths of the runtime directory: sockets, and files that exist only while the
                                       service runs
    safe_file_reads                    Safe reads of files in folders that trials can write to: regular files only
    secret_variable_removal            Takes a secret out of the environment of a process, before it starts others
    serve_environment_for_trials       The environment of `podium serve`, for the programs of trials
    service_settings                   The settings of a service, passed by `podium serve` to its components
    session_cpu_weight                 The CPU weight of a session among the sessions of the machine
    setting_cli_options                Declares, next to a setting, the option of `podium serve` that sets it
    signal_handlers                    Sets the signal handlers of a forked process
    submission_provenance              The provenance of a submission: git commit of its code, and command line without
                                       secrets
    thread_count_variables             The environment variables that set the number of threads or worker processes of
                                       libraries
    user_code_import_times             Measures the import time of user code and suggests `program.preload`
    weights_removal_lock               A file lock that prevents the removal of weights while an ensemble is built
"""
