"""The wire format between gateway and workers, and HTTP over a Unix socket.

Runs in the gateway, the workers, the host and the api process.

Modules:
    framing                 Messages of several frames on a byte stream: a Unix socket, or TLS on TCP
    gateway_http_client     HTTP to the gateway processes through their Unix sockets, any of which answers
    prediction_messages     The prediction requests and replies between gateway and workers: frames with a JSON header
                            and raw arrays
    remote_worker_endpoint  Endpoints of workers on other machines, and the heartbeats of their connections
"""
