"""The aggregator: sends each request to the members, and answers by the deadline with the replies that arrived.

Runs in the gateway.
"""
