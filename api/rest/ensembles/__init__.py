"""Ensembles over REST: build, preview, evaluate, versions; predictions are forwarded to the gateway.

Runs in the api process.
"""
