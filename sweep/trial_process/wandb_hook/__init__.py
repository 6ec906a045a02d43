"""What forwards metrics of `wandb.log` to Podium, inside the user's process; no module here imports another of Podium.

This folder is the first of PYTHONPATH of a script, whose Python may be any other than Podium's, from 3.8 on.
"""
