"""Response models that several resources share.

Runs in the api process.

Modules:
    base_schema           The base of all response models, pages of items, and times as ISO 8601 in UTC
    device_schemas        Response models for devices
    plain_value_response  Responses of plain values, for routes that return many of them
    population_schemas    Responses about populations: intervals, and schedules of configurations
    query_parameters      Query parameters of all routes that filter, sort or page through trials, or read the files of
                          an attempt
    sweep_schemas         Response models for sweeps, their budgets, warnings and provenance
    trial_schemas         Response models for trials, their attempts and artifacts
"""
