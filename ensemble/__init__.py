"""Ensembles: the best k networks of a sweep, run as one.

`selection` picks the members, `host` places them on devices, `member` and `in_graph` run the networks,
`aggregator` joins their answers under a deadline, `evaluation` measures what came out.
"""
