"""`podium serve`: starts the components, watches their heartbeats, restarts them.

Runs in the `podium serve` process.

Modules:
    child_process                A child process that runs `main` of a module, forked from this one
    component_shutdown           Stops the components of a service in order
    component_status_writer      Writes the state of the service's components to a file, which `component_status_reader`
                                 reads
    concurrent_service_rules     Which services may use one database at the same time
    database_subprocess          Runs a program of `db` in a separate process, which loads SQLAlchemy and Alembic
    existing_cluster_options     The options of `podium serve` for an existing Ray cluster
    leadership_process           Entry point of the leadership process: renews the lease of this service, or takes it
    listen_policy                The addresses a service may listen on: loopback, or any with TLS of its own or of a
                                 proxy
    login_link_request           Requests a login link from the running service without loading an HTTP client
    missed_component_heartbeats  Detects components that missed heartbeats
    node_join_process            `podium node join`: joins the cluster of a head, runs the node's guardian, and joins
                                 again when the head is back
    notification_check           Checks the file of `podium serve --notify` before the service starts
    object_store_preparation     Prepares the object store of a service before it starts
    ports                        Ports to listen on: whether one is free, and one that is
    running_database_watch       Whether the service still has its own database, checked when a component exits
    service_lock                 The lock of a data directory: one service, or one database upgrade, at a time
    settings_from_options        The settings of a service from the options of `podium serve`: checks them, and
                                 completes them
    shared_imports               Imports what components share before they are forked, so that each import is done once
    standby_requirements         What services need to succeed each other, and the name with which a start of a service
                                 takes their lease
    standby_wake_forwarding      Forwards wake-ups from the services that stand by to the leader, through PostgreSQL
    startup                      `podium serve`: checks the data directory, the database and the ports, then runs the
                                 supervisor
    supervised_components        The components of a service, and what the supervisor knows of each
    supervisor                   The supervisor: starts the components, restarts those that die, and stops all
    temporary_file_cleanup       Removes temporary files left by writers that were killed
"""
