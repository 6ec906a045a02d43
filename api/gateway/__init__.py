"""Predictions over HTTP, in Podium's format and in the Open Inference Protocol.

Runs in the gateway process; `main` is its entry point.

Modules:
    gateway_counter_totals           Adds up the figures of all gateway processes, whichever of them is asked
    health_routes                    Liveness and readiness of a gateway, for probes. Public; which ensembles are ready
                                     is for viewers
    inference_protocol_routes        The Open Inference Protocol, version 2: ensembles are models, with their versions
    inference_request                Parses requests of the Open Inference Protocol: JSON, optionally followed by raw
                                     tensors
    inference_response               Serializes a prediction as a response of the Open Inference Protocol
    input_tensors                    Parses the input tensor of the Open Inference Protocol, from JSON or raw bytes, to
                                     float32
    main                             Entry point of the gateway process, which serves predictions only, so that no other
                                     request delays them
    output_tensors                   Serializes output tensors of the Open Inference Protocol as JSON or raw bytes
    per_minute_traffic_recorder      Records the traffic of all gateway processes by minute and saves it, for the api
                                     and for the next start
    podium_format_prediction_routes  Predictions in Podium's own format, with the part of each member
    predictions_without_asgi         Answers ordinary predictions without ASGI: JSON, no query, a token that was looked
                                     up recently
    prometheus_metrics               `/metrics` in Prometheus' text format: the counters of all gateway processes
                                     together, and each process
    readiness                        Whether the gateway can answer for its ensembles
"""
