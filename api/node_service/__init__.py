"""What nodes on other machines ask of the head: how to join, files, and reports. The `nodes` process.

It listens with TLS on the address of the cluster, apart from the REST API, so that large files delay no page.

Modules:
    dataset_arrays_for_nodes  Reads the data of a sweep on the head, once, so that nodes copy arrays and need no source
                              files
    file_hash_cache           Hashes of files that nodes read, computed once for each state of a file
    join_routes               How a node joins the cluster, and its reports
    main                      Entry point of the nodes process: `python -P -m podium.api.node_service.main FILE`,
                              started by the supervisor
    node_facing_file_routes   Files for nodes: bundles, data sets and checkpoints to read, files of running attempts to
                              write
"""
