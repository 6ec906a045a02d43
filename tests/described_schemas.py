"""Describes the tables of a database in words that SQLite and PostgreSQL share."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Connection, Float, Integer, String, inspect

from podium.db.schema.dialect import is_postgres

ONLY_ON_SQLITE = ("fk_metrics_trial_id_trials",)
Tables = dict[str, dict[str, Any]]


def described(connection: Connection) -> Tables:
    """What the tables of a database are made of, in words that both kinds of databases share.

    Without the foreign keys that only SQLite has.
    """
    found = inspect(connection)
    left_out = () if is_postgres(connection) else ONLY_ON_SQLITE
    return {
        table: {
            "columns": sorted(column(each) for each in found.get_columns(table)),
            "key": found.get_pk_constraint(table)["constrained_columns"],
            "references": sorted(
                (each["constrained_columns"], each["referred_table"])
                for each in found.get_foreign_keys(table)
                if each["name"] not in left_out
            ),
            "unique": sorted(each["column_names"] for each in found.get_unique_constraints(table)),
            "indexes": sorted(
                (each["name"], each["column_names"], condition(each))
                for each in found.get_indexes(table)
                if "duplicates_constraint" not in each
            ),
        }
        for table in sorted(found.get_table_names())
    }


def column(found: Any) -> tuple[Any, ...]:
    """Name, kind of type, whether NULL is refused, and the default."""
    kinds = {kind.__name__: isinstance(found["type"], kind) for kind in (Integer, Float, String)}
    kind = next((name for name, fits in kinds.items() if fits), str(found["type"]))
    default = str(found["default"] or "").split("::")[0].strip("'") if "nextval" not in str(found["default"]) else ""
    truth = {"false": "0", "true": "1"} if kind == "BOOLEAN" else {}
    return found["name"], kind, not found["nullable"], truth.get(default, default)


def condition(index: Any) -> str:
    """The condition of a partial index. PostgreSQL shows `x IN (…)` as `x = ANY (ARRAY[…])`."""
    options = index.get("dialect_options", {})
    found = str(options.get("sqlite_where", options.get("postgresql_where", "")))
    if " = ANY " in found:
        values = ", ".join(re.findall("'[^']*'", found))
        return f"{re.findall(r'[a-z_]+', found)[0]} IN {values}"
    return found.replace("(", "").replace(")", "").replace("::text", "")
