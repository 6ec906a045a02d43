"""The agent of a node: carries code, data and checkpoints from the head, and models, files and logs to it.

One process per node, started by the guardian of the node; slots reach it through a Unix socket.

Modules:
    attempt_leftovers_report  What attempts that are over have left on a node although it was to be removed
    file_downloads            Fetches the code, the data and the checkpoints of attempts from the head, each once per
                              node
    file_request_server       Answers the requests of the slots of a node for files, in one thread per request
    file_uploads              Sends the files of one attempt: its log and checkpoints while it runs, the others at its
                              end
    main                      Entry point of the node agent: `python -P -m podium.sweep.node_agent.main FILE`, started
                              by the node's guardian
    node_status_reporter      Reports the state of a node to the head every few seconds, and measures the offset of its
                              clock
"""
