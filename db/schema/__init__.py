"""Tables, engine, migrations, integrity check and backup.

Runs in every process that opens the database.

Modules:
    database                 The database of a service as its users see it, of whatever kind
    database_binding         Which PostgreSQL database a data directory belongs to, recorded in the directory
    dialect                  What statements for SQLite and for PostgreSQL differ in
    error_exit               Error exit of the programs of `db`: one message on standard error, status 3
    file_lock_holders        The processes that lock a database's files, from /proc/locks
    integrity_check          Checks the database for damage, and its file system; read-only
    migrate                  Upgrades a database to the current schema, under a lock and after a backup
    online_backup            Copies the database consistently while the service runs
    open_database            Opens the database of a service: SQLite's file in its data directory, or PostgreSQL's
    postgres_arrays          The values of a column as one array for PostgreSQL
    postgres_binding         Binds a PostgreSQL database and a data directory to each other
    postgres_database        PostgreSQL behind the port `Database`: one writer at a time in all processes
    postgres_errors          Translates PostgreSQL errors to Podium's errors, by SQLSTATE
    postgres_schema_upgrade  Creates and upgrades a PostgreSQL database
    postgres_url_source      The URL of a PostgreSQL database, which holds a password: from a file or the environment,
                             never from an argument
    prepare_database         Prepares the database of a service: creates or upgrades its tables
    replaced_file_check      Detects that the database file was removed or replaced while open
    schema_version           The schema of a database file and of this version of Podium
    sqlite_database          A SQLite database: WAL, one writer per process, two levels of durability
    sqlite_errors            Translates SQLite errors to Podium's errors
    tables                   The tables in SQLAlchemy Core
    transaction_observer     Tells when the parts of transactions begin and end: connections, statements, commits
    unfinished_copy          Refuses a database that is being copied into: it has a mark instead of its schema
"""
