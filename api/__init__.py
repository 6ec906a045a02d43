"""Everything a person or a program talks to: REST, the command line, the Python client and `podium serve`."""
