"""Inside a trial: the fork server, the attempt, the `trial` handle, adapters for W&B, Ray Tune and Lightning.

Runs in the fork server and in trial processes.
"""
