"""Forwards metrics of `wandb.log` to Podium, in the user's process; independent of the rest of Podium.

This folder is first in the PYTHONPATH of a script, whose Python may be another one than Podium's, from 3.8.
"""
