"""Ensembles: the best k networks of a sweep, served as one.

- Member: one network of an ensemble, from one trial.
- Replica: a process that runs one member (between-graph) or all members (in-graph). The host has its spec.
- Worker: the code in a replica's process: it queues, batches and computes requests.
- Link: the gateway's connection to a replica.
"""
