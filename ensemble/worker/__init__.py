"""A worker: its input queue, batching, and its networks as one program.

Runs in worker processes, which the ensemble host starts on its machine, and node agents on theirs.

Modules:
    architecture_groups             Groups members that can be computed together: same architecture, precision and
                                    device
    batching                        Dynamic batching: selects the waiting requests that are computed together
    bundle_code                     Imports functions from users' code bundles, isolated from each other
    control_messages                What the host assigns to a worker process, and what the process reports
    direct_layer_calls              Computes sequences of layers by functions of tensors instead of calls of modules
    execution_plans                 The execution plans of a group: loop, stacked, recorded, compiled
    failing_network_detector        Detects networks that fail on every input, so that only a new process helps
    forked_plan_preparation         Prepares the plans of an in-graph worker in a forked process while the worker serves
    forked_process_setup            Sets up what the process template has forked for the host: its log, its name, and
                                    its end
    gateway_connection              One connection of a worker to a gateway: receives its messages, writes replies from
                                    any thread
    in_graph_network                All networks of an ensemble and their combination as one program, each network on
                                    its device
    inference_server                A worker's server: receives requests, batches them, computes them and sends the
                                    replies
    input_queue                     A worker's input queue, bounded in requests and bytes, and its counters
    int8_linear                     Linear layers whose weights and inputs are int8
    message_server                  The worker's Unix socket: accepts connections, receives their messages and sends
                                    replies
    model_file_spec                 The file of a member's network, as a worker loads it
    model_parallel_stages           Splits a network into consecutive stages, each on its device
    network_loading                 Loads model files as networks that output probabilities or values
    neural_network_interface        The interface of the networks that a worker runs
    plan_selection                  Selects the fastest execution plan of a group by benchmarking
    plan_transfer                   Moves the chosen plans from the process that has measured them to the worker
    precision_conversion            Converts networks to the precision of their member
    precision_measurement_messages  What the host asks a process that measures precisions, and its result
    precision_measurement_process   Measures a member in several precisions: loss, latency and memory
    state_reporter                  Reports the state of a worker process to the host, over a Unix socket
    tensor_graph_recording          Records a computation as a graph of tensor operations, without its Python overhead
    tls_gateway_connection          One TLS connection of a worker to a gateway on another machine
    tls_message_server              The worker's TLS socket for gateways on another machine
    user_networks                   Rebuilds users' networks from code and weights, and verifies their outputs
    worker_process                  The worker process: loads its networks, and serves them on a socket of its own
"""
