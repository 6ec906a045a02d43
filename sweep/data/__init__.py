"""Data sets: readers by format, splits, and a memory-mapped cache that all trials of a machine share.

Runs in trial processes, ensemble workers and the ensemble host; the api process reads headers.
"""
