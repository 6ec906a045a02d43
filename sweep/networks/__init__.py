"""Built-in networks, model files, and the rows of a data set as tensors; imports torch.

Runs in trial processes and ensemble workers.

Modules:
    dataset_batches           Batches of a data set as tensors: small sets are copied to the device, large ones read by
                              batch
    ensemble_network_adapter  Adapts a user's network to ensembles: flat rows in, probabilities or values out
    models                    Builds the built-in networks from their name and settings
    weight_files              Model files: safetensors, written atomically, verified by SHA-256 when read
"""
