"""The scheduler: hands ready trials to free slots, tells the search what happened, and records it.

Runs in the scheduler process; `main` is its entry point.
"""
