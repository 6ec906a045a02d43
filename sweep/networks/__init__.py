"""Built-in networks, model files, and the rows of a data set as tensors; imports torch.

Runs in trial processes and ensemble workers.
"""
