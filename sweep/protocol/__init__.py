"""The typed messages between scheduler, slot, fork server and trial process, with their encoding and their limits.

Runs in the scheduler, slot actors, fork servers and trial processes. Start at `codec`; each other module is one link.

Modules:
    codec                 Encodes frozen dataclasses as JSON objects with a `kind`, and decodes them
    fork_server_messages  What slot and fork server send each other, over a socket of packets
    limits                Limits of the messages between scheduler, slot and trial process, used by both ends
    slot_commands         Commands of the scheduler to a slot
    slot_exchange         What scheduler and slot exchange: commands one way, numbered events the other way
    trial_messages        What trial process and slot send each other: one JSON object a line, over a socket
"""
