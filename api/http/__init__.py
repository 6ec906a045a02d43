"""The layers that every HTTP request passes: limits, authentication, problem details, request bodies.

Runs in the api process, the gateway and the `nodes` process.

Modules:
    allowed_host_names              Allowed host names, against DNS rebinding
    authenticate_first              Rejects a request with a body from an unauthenticated client before the body is read
    authentication                  Authenticates requests by bearer token or session cookie, and declares the role that
                                    a route requires
    base_app                        The app that api and gateway share: guard, authenticator, body limits and problem
                                    responses, before any route
    browser_security_middleware     Checks host and origin of every request and adds security headers to every response
    cancel_on_disconnect            Cancels the work for a request when its client disconnects
    connection_limits               Limits on connections: their number, the time a client may take, the size of request
                                    headers
    connection_progress             Tracks what each client still has to send or read, and since when
    float32_conversion              Converts input rows to float32 and finds integers that float32 cannot represent
    handler_interface_without_asgi  The interface of a handler that answers requests without ASGI, in the event loop's
                                    callback
    host_and_origin_check           Refuses requests with an unknown host or from another origin
    inference_protocol_errors       Errors of the Open Inference Protocol: its clients expect the message under `error`
    login_rate_limit                Rate limit on failed logins by client address
    npy_response                    A prediction in NumPy's .npy format, for clients that accept application/x-npy
    openapi_bodies                  Adds schemas to the OpenAPI document for bodies that FastAPI does not parse
    openapi_problem_responses       Problem responses in the OpenAPI document: their schema, and the list of problem
                                    types
    openapi_roles                   Adds the role that each route requires to the OpenAPI document
    prediction_rows                 Parses and checks input rows, from JSON or NumPy's .npy format
    problem_details                 Errors as problem+json (RFC 9457): the table of problem types, and the type of each
                                    error
    protocol_without_asgi           Answers requests as soon as they have arrived, without ASGI, whose task and messages
                                    cost as much as a prediction
    raw_headers                     The headers of an ASGI message, as bytes
    readiness_reporting_server      A uvicorn server that reports readiness to the supervisor
    reject_duplicate_keys           Rejects JSON with a duplicate key in one object: parsers disagree on which value
                                    wins
    request_arrival_time            The time at which a request had arrived completely, from which its deadline counts
    request_body                    Reads request bodies within limits on bytes and time
    request_decompression           Decompresses request bodies up to a size limit
    request_limits                  Every limit on a request: bytes, rows, seconds
    route_dependencies              Dependencies and parameter types that routes share
    route_roles                     The roles that routes declare; without a role, or `PUBLIC`, an app does not start
    routes_without_middleware       Answers selected routes in front of FastAPI's middleware and router, which cost more
                                    than a prediction
    security_headers                Security headers for every response
    service_context                 The service that a request reaches: its settings and its database. Imports no web
                                    framework
    thread_pool_liveness            Finds out whether the threads that serve requests still finish calls
"""
