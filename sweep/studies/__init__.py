"""Optuna studies in and out, parameter importance, and search spaces of other libraries.

Runs in separate processes, started by the CLI or the api process, and in notebooks.
"""
