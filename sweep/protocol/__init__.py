"""The typed messages between scheduler, slot, fork server and trial process, with their encoding and their limits.

Runs in the scheduler, slot actors, fork servers and trial processes. Start at `codec`; each other module is one link.
"""
