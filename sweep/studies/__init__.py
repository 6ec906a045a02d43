"""Optuna studies in and out, parameter importance, and search spaces of other libraries.

Runs in processes of its own, started by the CLI, the api process or a notebook.
"""
