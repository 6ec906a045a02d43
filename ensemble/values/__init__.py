"""What an ensemble, a version and a prediction are, as plain values.

Imported in every process.
"""
