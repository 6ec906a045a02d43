"""Ensembles, versions and predictions as plain values.

Imported in every process.

Modules:
    ensemble_spec  The specification of an ensemble, its states, and the snapshots that predictions read
    new_version    The candidates and the content of a version before it is stored
    prediction     The result of a request: one outcome, and one status for each member
"""
