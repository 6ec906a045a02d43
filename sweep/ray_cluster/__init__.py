"""Ray: its processes, the nodes of its cluster, and the slots as its actors.

Only this room imports Ray. Runs in the component `ray` and in the scheduler, in slot relays, in slots of an existing
Ray cluster, and on nodes.

Modules:
    completed_ray_calls             Finds the remote calls that have a result, without waiting
    daemon_timer                    Calls a function later, in a thread that does not keep its process running
    desired_probe_count             How many probes a service should have pending, from what its sweeps need and what it
                                    has. Pure
    device_source                   Which devices of a Ray cluster get slots: the interface that own and existing
                                    clusters implement
    existing_cluster_devices        The devices of an existing Ray cluster that this service has: found by probes
    existing_cluster_node_guardian  Runs the process template and the agent of a node of an existing Ray cluster under a
                                    guardian
    existing_cluster_timings        Waits and time limits of a service on an existing Ray cluster
    fenced_slot_kill                Kills slots, after it is confirmed that no other scheduler has taken over
    free_device_probe               A probe: an actor that waits for a free device of a Ray cluster, and tells on which
                                    node it has got one
    joined_node_guardian            Runs the raylet, the agent and the process template of a node under a guardian, like
                                    `ray_head_guardian` on the head
    node_raylet                     The raylet of a node that joins the Ray of another machine, with workers forked from
                                    a template
    node_services_actor             An actor for each node of an existing Ray cluster: starts what slots need there, and
                                    ends it with itself
    node_services_actor_manager     The node supervisors of an existing Ray cluster: started, followed and ended, one
                                    for each node
    nodes_excluded_from_probes      Which nodes of an existing Ray cluster get no probes
    own_cluster_devices             The devices of the head and of the nodes that have joined it: each has slots
    ray_actor_kill                  Finds and kills actors of Ray
    ray_cluster_id                  The id of the Ray cluster that a service has joined: services with the same id reach
                                    the same slots
    ray_connection_settings         How other processes reach this service's Ray: its address, its token, and their
                                    variables
    ray_error_causes                Reads the causes of errors of remote calls: their first line, and whether an epoch
                                    was fenced
    ray_gcs_storage                 The folder of Ray's control store on the head of a cluster: with it, a restarted
                                    head has its nodes again
    ray_head_guardian               Runs Ray's head node and the process template under a guardian that leaves no
                                    process behind
    ray_head_process                Ray's head without its dashboard, its agents and its client server, and with workers
                                    forked from a template
    ray_nodes_with_slots            The nodes of the Ray cluster whose devices get slots
    ray_slot_actor                  A slot as a Ray actor of its own, on a node of an existing Ray cluster: Ray reserves
                                    its device
    ray_slot_relay                  The actor of a node that reserves its devices and passes calls on to its slots,
                                    which are processes
    ray_slots                       The slots on Ray: attach to existing ones, create missing ones, exchange messages
    ray_worker_launcher             The command by which the raylet starts a Python worker: has it forked from the
                                    process template
    ray_worker_template             Forks Ray's Python workers from a process that has imported Ray
    slot_actors                     How the scheduler reaches slots through Ray: the actors of slots, or the relays of
                                    nodes
    zero_resource_raylet            The raylet by which a service joins an existing Ray cluster: without CPUs and GPUs,
                                    so that it gets no trials
"""
