"""The database. Only this package imports SQLAlchemy.

One writer per process; readers anywhere.
"""
