"""Forwards metrics of `wandb.log` to Podium, in the user's process; independent of the rest of Podium.

This folder is first in the PYTHONPATH of a script, whose Python may be another one than Podium's, from 3.8.

Modules:
    podium_wandb_hook  Forwards the numbers and images of `wandb.log`, `run.log` and `wandb.summary` to a sink
    sitecustomize      Imported by Python at startup: installs the W&B hook, then imports the user's own `sitecustomize`
"""
