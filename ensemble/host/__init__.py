"""The ensemble host: places, watches and replaces workers, builds and evaluates ensembles.

Runs in the host process; `main` is its entry point.
"""
