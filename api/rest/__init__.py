"""The REST API and the dashboard's files: one subpackage per resource.

Runs in the api process; `main` is its entry point. To add a route: write it in `<resource>/<name>_routes.py` with its
role (`dependencies=[viewer]`), list its router in `routers.py`, and add a test under `tests/unit/api/rest`. What it
changes is a function in `podium.api.use_cases`; errors become problems by `podium.api.http.problem_details`.
"""
