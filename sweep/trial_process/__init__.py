"""The trial process: fork server, attempt, the `trial` object, adapters for W&B, Ray Tune and Lightning.

Runs in the fork server and in trial processes.
"""
