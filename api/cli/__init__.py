"""The command line, `podium`.

Runs in the CLI process.

Modules:
    app  The command line, `podium`: parses options, calls the service over HTTP and prints the answer
"""
