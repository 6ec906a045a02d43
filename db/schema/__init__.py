"""Tables, engine, migrations, integrity check and backup.

Runs in every process that opens the database.
"""
