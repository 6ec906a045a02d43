"""Several machines on one, each a network namespace. A package, so that the shared head stops after its last test."""
