"""The tables of the documentation that are lists of the product; pytest, and a process of its own that writes them.

This is `python -m tests.documentation_tables`. Markers in a page enclose each.
`tests/project_files/test_documentation_tables.py` compares them with the product.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.method_tables import method_table, property_table, warm_start_table
from tests.repository import ROOT
from tests.sweep_file_tables import key_tables

# Each table by the page below docs/ and the name in its markers.
TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("reference/sweep-file.md", "keys"): key_tables,
    ("reference/search.md", "methods"): method_table,
    ("reference/search.md", "properties of methods"): property_table,
    ("how-to/warm-start.md", "use of earlier trials"): warm_start_table,
}
PAGES = sorted({page for page, _ in TABLES})


def path_of(page: str) -> Path:
    """The file of a page."""
    return ROOT / "docs" / page


def page_with_tables(page: str) -> str:
    """The text of a page with its tables as they are now. Raises `ValueError` if a marker is missing."""
    text = path_of(page).read_text()
    for name in (name for other, name in TABLES if other == page):
        begin, end = f"<!-- {name}: written by python -m tests.documentation_tables -->\n", f"<!-- {name}: end -->\n"
        if not 0 <= text.find(begin) < text.find(end):
            raise ValueError(f"{page}: the lines {begin.strip()} and {end.strip()} are missing around the table")
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}\n{TABLES[page, name]()}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    for each in PAGES:
        path_of(each).write_text(page_with_tables(each))
