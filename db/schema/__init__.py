"""Tables, engine, migrations, integrity check and backup.

Runs in every process that opens the database.

Modules:
    backup               Copies the database consistently while the service runs
    engine               SQLite connections: WAL, one writer per process, two levels of durability
    error_exit           Error exit of the programs of `db`: one message on standard error, status 3
    integrity_check      Checks the database for damage, and its file system; read-only
    lock_holders         The processes that lock a database's files, from /proc/locks
    migrate              Upgrades a database to the current schema, under a lock and after a backup
    replaced_file_check  Detects that the database file was removed or replaced while open
    schema_version       The schema of a database file and of this version of Podium
    sqlite_errors        Translates SQLite errors to Podium's errors
    tables               The tables in SQLAlchemy Core
"""
