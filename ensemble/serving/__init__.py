"""The aggregator: sends each request to the members, and answers by the deadline with the replies that arrived.

Runs in the gateway.

Modules:
    aggregator                The aggregator: sends each request to every member and combines the replies that arrive by
                              the deadline
    aggregator_counts         The aggregator's counters
    aggregator_limits         The limits of the aggregator
    circuit_breaker           The circuit breaker of a replica (Nygard 2018, chapter 5)
    deadline_margin           How long before its deadline a request expires, so that its response leaves by the
                              deadline
    gateway_metrics           The figures of one or several gateway processes: counters and the health of replicas
    input_feature_statistics  Mean and spread of each feature of the rows that were predicted recently, from a bounded
                              sample
    latency_histogram         A histogram of latencies in fixed buckets: constant size, with estimated quantiles
    pending_request           A request in flight, and its calls to the members
    prediction_from_replies   Validates the members' replies and combines them into one prediction
    replica_latency           The latency of one replica over its last replies
    replica_link              The gateway's link to one replica: its requests in flight, latency and circuit breaker
    replica_link_manager      The gateway's links to all replicas: opened, closed and probed as replicas come and go
    replica_sets              The replicas that can answer for the members of a version
    served_ensembles          The ensembles that are served, and the version that answers a request
    tls_worker_connections    The gateway's connections to workers on other machines: TLS on TCP, with heartbeats
    traffic_history           Requests, latency and late replies of each ensemble by minute, over the last 24 hours
    unix_socket_transport     The gateway's connections to workers through Unix sockets, and the ports that tests fake
"""
