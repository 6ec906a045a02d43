"""The built-in training loop: criterion, epochs, cross-validation.

Runs in trial processes.
"""
