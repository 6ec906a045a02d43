"""The REST API and the dashboard's files: one subpackage per resource.

Runs in the api process; `main` is its entry point. To add a route: "Add a REST route" in CONTRIBUTING.md. What a route
changes is a function in `podium.api.use_cases`; errors become problems by `podium.api.http.problem_details`.

Modules:
    app                        Creates the app of the api process: state, middleware, routers and the dashboard's files
    dashboard_files            Serves the dashboard's build, and its page for every path that no route matches
    health_routes              Liveness and readiness of the service, for probes. Public; the details of readiness are
                               for viewers
    leader_and_standby_routes  The services of one database over REST: which one leads, and which stand by
    main                       Entry point of the api process: `python -P -m podium.api.rest.main FILE`, started by the
                               supervisor
    quick_search_routes        Finds sweeps, trials, ensembles and projects by a few typed characters
    routers                    The table of all routers of the REST API, in the order in which paths are matched
    schema_routes              JSON Schema of the sweep file over REST, for editors. Public: editors send no token
    write_openapi              Writes the OpenAPI document: `python -m podium.api.rest.write_openapi [FILE]`
"""
