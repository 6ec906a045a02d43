"""Training of one network by several ranks: data parallel, and model parallel; the room of `podium.parallel`.

Runs in the user's process, and in trial processes.

Modules:
    asynchronous                    Asynchronous data parallel training with parameter servers
    bfloat16_gradients              Gradients in bfloat16 between ranks
    gradient_synchronization_rules  Which gradients count, and when a replica continues: with spares, and with bounded
                                    staleness
    parameter_server                Serves a shard of the parameters to all replicas, with a thread for each of them
    parameter_server_client         How a replica reaches a parameter server: in its own process, or in another rank
    parameter_server_messages       Messages between a replica and a parameter server, by send and receive of the
                                    process group
    parameter_server_worker         A replica whose parameters are on parameter servers, and its training steps
    parameter_shards                The parameters of an optimizer as flat tensors, divided over servers
    pipeline                        Model parallel training: the layers of a network over several ranks, by torch's
                                    pipelining
    pipeline_stage_split            Which layers each stage of a pipeline has
    process_group                   Joins the ranks of a program by torch's process group
    rank_environment                The variables by which `torchrun`, or another launcher, tells a process its rank
    spare_replicas                  Synchronous data parallel training with spare replicas
    synchronous                     Synchronous data parallel training by DistributedDataParallel
"""
