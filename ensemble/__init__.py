"""Ensembles: the best k networks of a sweep, run as one.

In-graph, one worker runs all networks; between-graph, each network has a worker and the gateway aggregates.
"""
