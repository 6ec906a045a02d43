"""The command line, `podium`.

Runs in the CLI process.
"""
