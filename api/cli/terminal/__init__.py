"""What commands share: options, tables, progress, completion.

Runs in the CLI process.
"""
