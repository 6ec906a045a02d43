"""Tables of the documentation match the product; the examples of docs/reference/sweep-file.md are sweep files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podium.sweep.spec.json_schema import sweep_schema
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.specfile.document_parser import read_document
from podium.sweep.specfile.wandb_file import convert
from tests.documentation_tables import PAGES, page_with_tables, path_of
from tests.sweep_file_tables import BLOCKS


@pytest.mark.parametrize("page", PAGES)
def test_tables_match_the_product(page: str) -> None:
    written = path_of(page).read_text()
    assert written == page_with_tables(page), "write the tables again: python -m tests.documentation_tables"


def test_every_block_has_a_table() -> None:
    described = {name for name, block in sweep_schema()["$defs"].items() if "properties" in block}
    assert {name for name in described if not name.endswith("Rule")} <= BLOCKS.keys()


def test_examples_are_valid_sweep_files(tmp_path: Path) -> None:
    ours, theirs = re.findall(r"```yaml\n(.*?)```", path_of("reference/sweep-file.md").read_text(), re.DOTALL)
    file = tmp_path / "sweep.yaml"
    file.write_text(ours)
    parse_spec(read_document(file).plain)
    file.write_text(theirs)
    file.with_name("train.py").write_text("import wandb\n")
    converted = convert(read_document(file).plain, file)
    assert converted.problems == () and converted.document["program"]["metrics"] == {}
