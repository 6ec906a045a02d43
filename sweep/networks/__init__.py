"""Built-in networks, checkpoints, and rows on their way to a network; imports torch.

Runs in trial processes and ensemble workers.
"""
