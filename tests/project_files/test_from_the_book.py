"""The pages "From the book": one for each concept, each with a short example that a test runs."""

from __future__ import annotations

import re

import pytest

from tests.chapter_figures import BY_RANKS, ON_A_SERVICE
from tests.repository import ROOT

PAGES = ROOT / "docs" / "from-the-book"
EXAMPLES = ROOT / "examples" / "chapter"
CONCEPTS, MAX_LINES = 25, 80
_LINK = re.compile(r"\]\(\.\./\.\./examples/chapter/(\w+)\.py\)")


def test_each_concept_has_a_page_and_an_example_that_is_tested() -> None:
    listed = re.findall(
        r"^\| \d+ \| \[.*\]\((.*)\.md\) \| \[(.*)\.py\]", (PAGES / "index.md").read_text(), re.MULTILINE
    )
    assert len(listed) == CONCEPTS
    assert sorted(page for page, _ in listed) == sorted(
        path.stem for path in PAGES.glob("*.md") if path.stem != "index"
    )
    assert sorted(name for _, name in listed) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
    assert sorted(name for _, name in listed) == sorted([*ON_A_SERVICE, *BY_RANKS])
    for page, name in listed:
        assert _LINK.findall((PAGES / f"{page}.md").read_text()) == [name]


@pytest.mark.parametrize("name", sorted([*ON_A_SERVICE, *BY_RANKS]))
def test_example_is_short_and_says_how_to_run_it(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) <= MAX_LINES
    assert re.search(rf"`(?:python|torchrun --nproc-per-node \d) {name}\.py`", text)
