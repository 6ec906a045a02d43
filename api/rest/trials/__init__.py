"""Trials over REST: details, the trial table, downloads.

Runs in the api process.
"""
