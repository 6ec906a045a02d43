"""From finished trials to an ensemble version: read their outputs, select, check, fit.

Runs in the api process and the ensemble host.
"""
