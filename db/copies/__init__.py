"""Copies of a service: of its database into one of the other kind, and of the whole service into a backup and back.

Runs in a process of its own.

Modules:
    copy_marker    Marks a database that is being copied into, instead of its schema
    database_copy  Copies the database of a data directory to PostgreSQL or back
    stored_values  What a database stores otherwise than the other kind, and digests of rows
    table_copy     Copies the rows of one table in the order of its key, from where the target is
"""
