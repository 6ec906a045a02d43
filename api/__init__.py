"""The interfaces for people and programs: REST, gateway, Python client, `podium serve` and the command line."""
