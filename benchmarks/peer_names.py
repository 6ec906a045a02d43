"""Names that a benchmark and the servers that it starts agree on."""

MODELS = "PODIUM_BENCH_MODELS"  # variable with the paths of the model files, separated by `os.pathsep`
WORKER = "peer-worker"  # the process with all networks
