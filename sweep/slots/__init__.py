"""Slots: one device, its process template, and the attempt that runs on it.

Only this room and the ensemble host import Ray. Runs in slot actors; the slot pool runs in the scheduler.
"""
