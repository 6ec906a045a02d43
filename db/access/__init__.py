"""Access tokens and browser sessions; the database holds only their SHA-256.

Runs in the api process and the gateway.
"""
