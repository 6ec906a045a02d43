"""Sweeps over REST: submit, control, sweep files, charts, importance, import and export.

Runs in the api process.
"""
