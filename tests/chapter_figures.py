"""What the examples of "From the book" print: a pattern for the whole output of each."""

from __future__ import annotations

LINES = r"(?:.*\n)*"
ACCURACY = r"accuracy 0\.[5-9]\d\d"
ON_A_SERVICE: dict[str, str] = {
    "any_client": r"(?:[\w ]+: sweep \d+ is finished, best 0\.\d{4}\n){3}3 clients, 1 result\n",
    "between_graph_ensemble": r"all run: ok, 3 of 3 in .* ms\none hangs: degraded, 2 of 3; its member is late\n"
    r"answered within the deadline of 1000 ms: \d+ ms\n",
    "cluster_spec": r"components of the head: api, gateway, host, ray, scheduler, serve\nhead: ready, cpu-0, cpu-1\n"
    r"1 nodes, 2 devices\n",
    "control_dependencies": r"sweep \d+ is queued after sweep \d+\nit started after the first had ended, with lr .*\n"
    r"best accuracy: 0\.\d+, then 0\.\d+\n",
    "data_queues": r"(?:epoch [01]: 700 rows in 35 batches, sum 363607, padded to [12]\d to 50 values\n){2}"
    r"order of the two epochs: different\n",
    "distributed_mnist": r"(?:[12] replicas, loss by global step: 50: .*, 100: .*, 150: .*\n"
    rf"[a-z-]+: {ACCURACY} with lr .*\n){{2}}",
    "dynamic_placement": r"auto: .*\ngpu: queued, it requires a gpu, and there is none\ndevices used: 2 of 2\n",
    "exercise_8": r"6 networks, each trained on 3 folds, on 2 devices\n"
    r"(?:trial \d: accuracy 0\.\d+ ± 0\.\d+, .*\n){3}kept: trials \d, \d, \d\n",
    "exercise_9": r"(?:network \d: accuracy .*\n){3}ensemble:  accuracy 0\.\d{4}, log loss 0\.\d{4}\n"
    r"ensemble minus the best network on 539 rows: [+-]0\.\d{4}\n95 % interval .* to .*; better: .*\n",
    "gpu_memory": LINES + r"3 trials finished, 1 exceeded 768 MB\n",
    "in_graph_ensemble": r"3 of 3 networks in 1 process: ok\n"
    r"the answer differs from the mean of the networks by \de-(?:0[6-9]|[1-9]\d)\n|.* by 0e\+00\n",
    "loading_data": r"20000 rows, mapped by 4 of 4 trials\nfirst trial \d+ ms, the others .* ms or less\n",
    "logging_placements": LINES + r"6 placements logged, 0 differ from the device that was used\n",
    "one_network_per_device": r"1 network: .* s; 2 networks on 2 devices: .* s\n.* times the time of one network, .*\n",
    "parallel_execution": r"threads: 1: 1 within an operation, 1 between operations, \d+ ms\n"
    r"threads: 2: 2 within an operation, 2 between operations, \d+ ms\n",
    "pinning_across_tasks": r"node head: 4 of 4 trials finished, on cpu-[01](?:, cpu-1)?\n"
    r"no_matching_device: it requires a device of the node nowhere, .*: head\n",
    "queries_per_second": r"version 1, 1 replica: \d+ requests/s\nversion 2, 2 replicas: \d+ requests/s\n"
    r"rolled back: version 1 answers again\n",
    "recovery": r"attempt 1: failed signal\nattempt 2: finished\n"
    r"continued at epoch 3; losses of epochs \[0, 1, 2, 3, 4, 5\]\n",
    "resource_containers": r"counter in memory: 1 1 1 1\ncounter in a file: 1 1 1 1\n4 folders, 0 left\n",
}
BY_RANKS: dict[str, tuple[int, str]] = {  # with the number of ranks
    "asynchronous_replicas": (3, rf"no bound: {ACCURACY}, 0 of \d+ .*\n.*: {ACCURACY}, .*\n.*: {ACCURACY}, 0 of .*\n"),
    "bandwidth_saturation": (2, r"(?: *[\d,]+ parameters, b?float(?:16|32): .* MB a step, .* ms\n){6}"),
    "exercise_10": (2, r"(?:[a-z ]+: accuracy (?:0\.8[5-9]|0\.9)\d* after .* s and \d+ updates\n){3}"),
    "model_parallelism": (2, r"(?:(?:gpipe|1f1b) over 2 devices: losses differ by \de-(?:0[6-9]|1\d), .*\n){2}"),
    "parameter_servers": (
        2,
        rf"servers 1: about 17226 of 17226 .*, {ACCURACY}\nservers 2: about 8613 of 17226 .*, {ACCURACY}\n",
    ),
    "synchronous_replicas": (
        3,
        rf"first 3 of 3 gradients: .* steps/s .*, {ACCURACY}\nfirst 2 of 3 gradients: .* steps/s .*, {ACCURACY}\n",
    ),
}
