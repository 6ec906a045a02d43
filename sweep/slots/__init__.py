"""Slots: one device each, its fork servers, and the attempt that runs on it.

Runs in one process per slot, and in the slot relay of a node. Imports no Ray: `sweep/ray_cluster` has the relay, and
slots that are actors themselves.

Modules:
    attempt_end_event       The event of the end of an attempt, with its outcome
    attempt_files           The files of a slot's attempts: here on the head, or carried to and from it by the agent of
                            the node
    attempt_log             The log of one attempt: the beginning and the end of its output, limited in size
    attempt_termination     Ends an attempt on request, and when it reaches a limit on time or disk usage
    attempt_usage_watch     Measures what an attempt uses, once per second, and ends it above its memory limit
    condition_variable      Waits until a condition holds, evaluated at each change
    ended_attempt_uploads   Sends the files of attempts that have ended to the head, of one attempt after another
    event_queue             The events of a slot that the scheduler has not acknowledged, encoded and bounded
    fork_server_client      A slot's client of one fork server: start it, send requests, receive replies
    fork_server_pool        The fork servers of one slot: one without packages, and one for each recent
                            `program.preload`
    local_slot_connections  Calls to the slots of this machine over their sockets, without Ray and the slot relay
    outcome_classification  Determines the outcome of an attempt from its process's last report and exit status. Pure
    placed_slot             A slot that describes its device and its node
    rank_stall_watch        Watches one rank of an attempt on several devices: whether it joins the others, and whether
                            it is idle
    reusable_folders        Empty folders that the attempts of a slot use one after the other
    running_attempt         The attempt that a slot runs, and its time limits, which hold while the scheduler is away
    scheduler_call_fencing  Which scheduler a slot belongs to, and which of its calls count
    slot                    One slot: a reserved device, its fork servers, and the attempt that runs on it
    slot_process            The process of one slot: answers the calls of the scheduler
    slot_process_client     The process of one slot, for the relay of its node: start it, pass on calls, notice its end
    trial_connection        The connection to the process of an attempt: reads its messages, and sends it answers
"""
