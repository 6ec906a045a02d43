"""The members of ensembles on a node: their model files, and their worker processes.

Runs in the node agent, which the ensemble host of the head asks for workers over TLS.

Modules:
    member_service    Answers the requests of the ensemble host about workers on this node
    model_file_cache  Fetches model files from the head, each once, and keeps the newest
"""
