"""The process template: one process per node that has imported torch, and forks fork servers, members and Ray workers.

`template_process` runs as a process of its own below Ray's guardian; clients are slots and the ensemble host.

Modules:
    contiguous_arenas        Has Python's allocator map its memory in one piece, before the imports need it
    free_memory_filling      Takes the free memory between the objects of the imports, so that later objects are close
                             together
    rest_import_schedule     Decides when the rest of the imports takes place: when attempts need it
    template_forked_process  A process that the process template forks on request
    template_imports         Imports what forked processes share, torch above all
    template_launcher        Starts the process template and restarts it when it has exited
    template_process         Imports torch once, then forks the processes of a node: fork servers, members and Ray
                             workers
"""
