"""The REST API and the dashboard's files: one subpackage per resource.

Runs in the api process; `main` is its entry point.
"""
