"""Files of trials, code and data sets by key, on this machine or on the head.

Keys are paths relative to the data directory, so a file has the same key on each machine. Used by the node service of
the head and by node agents.

Modules:
    file_store_interface          The interface of file stores
    fsspec_folder                 A folder in a bucket or a file system of fsspec: objects that appear complete, and
                                  patience with failures
    head_and_object_store         The file store of a node with an object store: files go there directly; the rest is on
                                  the head
    https_store                   The file store of the head over HTTPS: parts that continue after a broken connection,
                                  checked by hash
    local_store                   The file store of the machine that has the files: the data directory itself
    object_store                  The file store in a bucket or a shared folder, through fsspec
    object_store_check            Checks at start that this machine can use the object store
    object_store_downloader       Fetches files from the object store into the data directory of the head, each once
    object_store_fetch_client     Makes files that are in the object store present in the data directory
    object_store_fetch_server     Answers the requests of `object_store_fetch_client` on a Unix socket, each in a thread
    object_store_url              The URL of an object store for the files of attempts, and its file system
    recorded_object_store_config  The object store of a data directory, as `podium serve` has recorded it
    resumable_uploads             Uploads in parts, which continue where a broken connection or a restart of the head
                                  has ended them
    validated_file_keys           The keys of stored files, checked before one becomes a path: other machines send them
"""
