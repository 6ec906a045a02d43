"""The wire format between gateway and workers, and HTTP over a Unix socket.

Runs in the gateway, the workers, the host and the api process.
"""
