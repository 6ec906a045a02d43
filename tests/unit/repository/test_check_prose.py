"""The prose check finds the words of .ci/prose.toml in prose, and only there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.repository import ROOT


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_prose", ROOT / ".ci" / "check_prose.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


check_prose = _loaded()
RULES = check_prose.Rules(
    words=(check_prose.Word.of("anew", "again"), check_prose.Word.of("whole numbers?", "integer")),
    paths=(),
    comments=True,
)


def _found(path: Path, content: str) -> list[tuple[int, str, str]]:
    path.write_text(content)
    return list(check_prose.findings(path, RULES))


def test_markdown_is_read_outside_code_and_link_targets(tmp_path: Path) -> None:
    content = """# A page

Start anew, with a whole
number. `anew` is code, [a link](anew.md) has a target, and renewed is another word.

```
anew
```

| table | Anew |
"""
    assert _found(tmp_path / "page.md", content) == [
        (3, "anew", "again"),
        (3, "whole number", "integer"),
        (10, "Anew", "again"),
    ]


def test_python_is_read_in_docstrings_messages_and_comments(tmp_path: Path) -> None:
    content = '''"""First line.

Starts anew.
"""


def anew(value: int) -> None:
    # a comment: anew
    raise ValueError(f"{value} is tried anew")  # `anew` is code


MODE = "anew"
'''
    lines = [line for line, _, _ in _found(tmp_path / "module.py", content)]
    assert lines == [3, 8, 9]


def test_typescript_is_read_in_strings_text_and_comments(tmp_path: Path) -> None:
    content = """// anew, a comment
const anew = load(); // its name is no prose
const label = "Read anew";
export const Page = () => (
    <p className={anew}>
        Written anew
    </p>
);
"""
    assert [line for line, _, _ in _found(tmp_path / "page.tsx", content)] == [1, 3, 6]


def test_a_yaml_comment_is_read(tmp_path: Path) -> None:
    assert _found(tmp_path / "sweep.yaml", "anew: 1  # tried anew\n") == [(1, "anew", "again")]


def test_comments_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("# tried anew\n")
    rules = check_prose.Rules(RULES.words, (), comments=False)
    assert list(check_prose.findings(path, rules)) == []


def test_a_phrase_does_not_span_what_is_left_out(tmp_path: Path) -> None:
    assert _found(tmp_path / "page.md", "a whole `x` number\n") == []


def test_its_own_rules_are_valid_and_name_paths_that_exist() -> None:
    rules = check_prose.Rules.read()
    assert rules.words
    assert all((ROOT / path).exists() for path in rules.paths)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Is no number.", "Is no number"),
        ("There is no file of that name.", None),
        ("It does nothing any more.", "does nothing any more"),
        ("It does not mend the file.", "mend"),
        ("A recommendation.", None),
        ("The sweep goes on.", "goes on"),
        ("See doubt.", "doubt"),
    ],
)
def test_the_words_of_the_glossary(tmp_path: Path, sentence: str, expected: str | None) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"{sentence}\n")
    found = [word for _, word, _ in check_prose.findings(path, check_prose.Rules.read())]
    assert found == ([] if expected is None else [expected])


def test_it_exits_with_1_and_prints_each_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("Fine.\n")
    assert check_prose.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""

    page.write_text("Fine.\n\nStart anew.\n")
    assert check_prose.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{page}:3: anew -> write: again\n"


def test_a_path_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="nowhere: no such file"):
        check_prose.main(["nowhere"])


def test_generated_tables_are_left_out(tmp_path: Path) -> None:
    content = "anew\n<!-- tables: begin -->\nanew\n<!-- tables: end -->\nanew\n"
    assert [line for line, _, _ in _found(tmp_path / "page.md", content)] == [1, 5]
