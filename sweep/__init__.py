"""Sweeps: from a sweep file to finished trials.

Each subpackage is one layer; docs/explanation/architecture.md lists them with their processes.
"""
