"""docs/reference/sweep-file.md has every key of the sweep file, and its examples are sweep files."""

from __future__ import annotations

import re
from pathlib import Path

from podium.sweep.spec.json_schema import sweep_schema
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.specfile.document import read_document
from podium.sweep.specfile.wandb_file import convert
from tests.sweep_file_tables import BLOCKS, PAGE, page_with_tables


def test_tables_match_the_schema() -> None:
    page = PAGE.read_text()
    assert page == page_with_tables(page), "write them again: python -m tests.sweep_file_tables"


def test_every_block_has_a_table() -> None:
    described = {name for name, block in sweep_schema()["$defs"].items() if "properties" in block}
    assert {name for name in described if not name.endswith("Rule")} <= BLOCKS.keys()


def test_examples_are_valid_sweep_files(tmp_path: Path) -> None:
    ours, theirs = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "sweep.yaml"
    file.write_text(ours)
    parse_spec(read_document(file).plain)
    file.write_text(theirs)
    file.with_name("train.py").write_text("import wandb\n")
    converted = convert(read_document(file).plain, file)
    assert converted.problems == () and converted.document["program"]["metrics"] == {}
