"""Server-sent events for pages that follow a sweep, a trial or an ensemble.

Runs in the api process.
"""
