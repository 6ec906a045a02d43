"""Copies of a service: of its database into one of the other kind, and of the whole service into a backup and back.

Runs in a process of its own.

Modules:
    backup_file_copy             Copies files of a service into a backup, one after another
    backup_manifest              What a snapshot in a backup consists of, as JSON
    backup_repository            A backup in a folder or an object store: contents by their hash, and snapshots that
                                 name them
    database_copy                Copies the database of a data directory to PostgreSQL or back
    database_snapshot            A consistent snapshot of the database of a running service: a file, and a connection
                                 that reads the same rows
    dialect_value_conversion     What a database stores otherwise than the other kind, and digests of rows
    full_backup                  Backs up a service, also while it runs: a snapshot of its database, then the files that
                                 it names
    full_restore                 Restores a snapshot of a backup into an empty data directory
    pg_dump_and_restore          Calls `pg_dump` and `pg_restore`
    postgres_backup_and_upgrade  `podium db backup|restore|upgrade` on a PostgreSQL database
    postgres_in_use_check        Refuses a PostgreSQL database that a service uses
    snapshot_file_list           The files that a snapshot of the database names, and why some are gone
    sqlite_restore               Replaces the database of a data directory by a backup of it, while no service runs
    table_copy                   Copies the rows of one table in the order of its key, from where the target is
    unfinished_copy_marker       Marks a database that is being copied into, instead of its schema
"""
