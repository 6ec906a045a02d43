"""Optuna studies in and out, parameter importance, and search spaces of other libraries.

Runs in separate processes, started by the CLI or the api process, and in notebooks.

Modules:
    optuna_storage           Reads studies from Optuna storages without writing to them, and writes studies in bulk
    parameter_importance     Computes parameter importances with fANOVA over a sweep's finished trials
    search_space_conversion  Converts a search space in a Python or JSON file to a sweep file document
    study_conversion         Converts sweeps to Optuna studies and studies to sweeps
    tune_space               Converts Ray Tune's search space objects to parameters of a sweep file
"""
