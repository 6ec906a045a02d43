"""What the service does on request: submit, preview, extend, retry, build; called by every route that offers it.

Runs in the api process; plain functions on a `ServiceContext`, without a web framework.
"""
