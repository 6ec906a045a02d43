"""From text to a sweep spec and back: YAML, TOML, JSON and W&B files, edits, checks of code and data.

Runs in the CLI and the api process.
"""
