"""Benchmarks of Podium and its peers on the same work and one machine: `python -m benchmarks`, or `make bench`."""
