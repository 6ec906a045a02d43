"""Slots: one device each, its fork servers, and the attempt that runs on it; the slot pool on Ray.

Only this room and the ensemble host import Ray. Runs in slot actors; the slot pool runs in the scheduler.
"""
