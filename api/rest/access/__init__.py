"""Browser sessions and access tokens over REST.

Runs in the api process.
"""
