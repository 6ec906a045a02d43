"""Ensembles over REST: build, preview, evaluate, versions; predictions are forwarded to the gateway.

Runs in the api process.

Modules:
    drift_routes                Drift: the inputs of recent requests to an ensemble against the training rows of its
                                members
    ensemble_preview_routes     Previews an ensemble over REST: candidates, selection path and scores; nothing is stored
    ensemble_response           One ensemble with the health of its replicas
    ensemble_routes             Ensembles over REST: build, list, show, versions, start, stop
    ensemble_schemas            Response models for ensembles
    evaluation_routes           Evaluations of ensembles over REST: start, list, show, outputs
    prediction_openapi_schemas  Response models of `predict` for the OpenAPI document; the gateway serializes the
                                response itself
    prediction_proxy_routes     Forwards predictions unchanged to the gateways in turn, through their Unix sockets
    replica_health              Reads the health of replicas from any gateway process, which answers for all of them
    sample_row_routes           Sample rows over REST, from the data of an ensemble's members, for trying predictions
    score_schemas               Response models for the scores of an ensemble
    traffic_and_event_routes    What happened to an ensemble, and its traffic over time
    version_difference_routes   The difference of two versions of an ensemble on the same rows, with its confidence
                                interval, over REST
"""
