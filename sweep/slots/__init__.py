"""Slots: one device each, its fork servers, and the attempt that runs on it; the slot pool on Ray.

Only this room imports Ray. Runs in slot actors; the slot pool runs in the scheduler.

Modules:
    attempt_end              The event of the end of an attempt, with its outcome
    attempt_files            The files of a slot's attempts: here on the head, or carried to and from it by the agent of
                             the node
    attempt_limits           Ends an attempt on request, and when it reaches a limit on time or disk usage
    attempt_usage_watch      Measures what an attempt uses, once per second, and ends it above its memory limit
    condition_variable       Waits until a condition holds, evaluated at each change
    event_queue              The events of a slot that the scheduler has not acknowledged, encoded and bounded
    file_transfer            Sends the files of attempts that have ended to the head, of one attempt after another
    fork_server_client       A slot's client of one fork server: start it, send requests, receive replies
    fork_server_pool         The fork servers of one slot: one without packages, and one for each recent
                             `program.preload`
    joined_devices           The devices of a Ray cluster of others that this service has: found by probes, one keeper
                             for each node
    joined_raylet            The raylet by which a service joins the Ray cluster of others: without CPUs and GPUs, so
                             that it gets no trials
    keeper_component         Runs the process template and the agent of a node whose Ray belongs to others under a
                             guardian
    node_component           Runs the raylet, the agent and the process template of a node under a guardian, like
                             `ray_component` on the head
    node_keeper              An actor for each node of a Ray cluster of others: starts what slots need there, and ends
                             it with itself
    outcome_classification   Determines the outcome of an attempt from its process's last report and exit status. Pure
    probe_plan               How many probes a service should have pending, from what its sweeps need and what it has.
                             Pure
    rank_watch               Watches one rank of an attempt on several devices: whether it joins the others, and whether
                             it is idle
    ray_actor_kill           Kills actors of Ray, and names its errors
    ray_cluster_id           The id of the Ray cluster that a service has joined: services with the same id reach the
                             same slots
    ray_component            Runs Ray's head node and the process template under a guardian that leaves no process
                             behind
    ray_connection_settings  How other processes reach this service's Ray: its address, its token, and their variables
    ray_control_store        The folder of Ray's control store on the head of a cluster: with it, a restarted head has
                             its nodes again
    ray_head_process         Ray's head without its dashboard, its agents and its client server, and with workers forked
                             from a template
    ray_node                 The raylet of a node that joins the Ray of another machine, with workers forked from a
                             template
    ray_nodes                The nodes of the Ray cluster whose devices get slots
    ray_slot_actor           The slot as a Ray actor: Ray reserves a device, and this class determines which one
    ray_slots                The slots on Ray: attach to existing ones, create missing ones, exchange messages
    ray_worker_launcher      The command by which the raylet starts a Python worker: has it forked from the process
                             template
    ray_worker_template      Forks Ray's Python workers from a process that has imported Ray
    running_attempt          The attempt that a slot runs, and its time limits, which hold while the scheduler is away
    slot                     One slot: a reserved device, its fork servers, and the attempt that runs on it
    slot_probe               A probe: an actor that waits for a free device of a Ray cluster, and tells on which node it
                             has got one
    trial_log                The log of one attempt: the beginning and the end of its output, limited in size
    unused_nodes             Which nodes of a Ray cluster of others get no probes
"""
