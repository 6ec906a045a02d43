"""The typed messages between the processes of sweeps, with their encoding and their limits.

Runs in the scheduler, search processes, slot relays, slots, fork servers, process templates, node agents and trial
processes.
Start at `message_codec`; each other module is one link.

Modules:
    fork_server_messages         The messages between slot and fork server, over a SEQPACKET socket
    message_codec                Encodes frozen dataclasses as JSON objects with a `kind`, and decodes them
    message_limits               Limits of the messages between scheduler, slot and trial process, used by both ends
    node_reports                 What the agent of a node reports to the head
    process_template_messages    The messages between the process template and its clients, over a Unix socket
    scheduler_slot_messages      The exchange between scheduler and slot: commands in one direction, numbered events in
                                 the other
    search_process_messages      The messages between scheduler and search process: one JSON object per line, over pipes
    slot_commands                Commands of the scheduler to a slot
    slot_process_messages        The calls of a slot in a process of its own, by the scheduler or through the slot relay
                                 of its node
    slot_to_node_agent_messages  The messages between a slot and the agent of its node, over a Unix socket
    trial_messages               The messages between trial process and slot: one JSON object per line, over a socket
"""
