"""The wire format between gateway and workers, and HTTP over a Unix socket.

Runs in the gateway, the workers, the host and the api process.

Modules:
    empty_tls_context  The TLS context without certificates, for HTTP clients on a Unix socket
    framing            Messages of several frames on a byte stream, such as a Unix socket
    gateway_transport  HTTP to the gateway processes through their Unix sockets, any of which answers
    wire               The messages between gateway and workers: frames with a JSON header and raw arrays, no pickles
"""
