"""Checks of the invariants between rows, files and processes; `podium doctor`.

Runs in a process of its own.

Modules:
    audit        Checks the invariants of rows, files and processes
    audit_files  Invariants of files and processes against the database
    audit_rows   Invariants of the database rows as SQL queries that find breaches
"""
