"""A worker: its input queue, batching, and its networks as one program.

Runs in worker processes, which Ray places.
"""
