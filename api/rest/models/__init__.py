"""Response models that several resources share.

Runs in the api process.

Modules:
    query_parameters  Query parameters of all routes that filter, sort or page through trials
    response_models   Response models that several routes share: rows as JSON, times as ISO 8601 in UTC
"""
