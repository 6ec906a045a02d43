"""The SQLite database; the only package that imports SQLAlchemy.

One writer per process; any number of readers.
"""
