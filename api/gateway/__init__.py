"""Predictions over HTTP, in Podium's format and in the Open Inference Protocol.

Runs in the gateway process; `main` is its entry point.
"""
