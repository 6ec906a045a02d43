"""Plain values of the domain: trials, failure causes, errors, references. Standard library only.

Imported in every process.
"""
