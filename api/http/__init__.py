"""What every HTTP request passes: limits, authentication, problem details, request bodies.

Runs in the api process and the gateway.
"""
