"""Optuna studies in and out, and parameter importance.

Runs in separate processes, started by the CLI or the api process, and in notebooks.

Modules:
    optuna_storage_io     Reads studies from Optuna storages without writing to them, and writes studies in bulk
    parameter_importance  Computes parameter importances with fANOVA over a sweep's finished trials
    study_conversion      Converts sweeps to Optuna studies and studies to sweeps
"""
