"""Response models that several resources share.

Runs in the api process.
"""
