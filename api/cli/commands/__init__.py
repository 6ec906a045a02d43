"""The commands of `podium`, one module per noun.

Runs in the CLI process.
"""
