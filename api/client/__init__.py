"""The Python client and what notebooks use; imports no command line.

Runs in the user's process and in the CLI.
"""
