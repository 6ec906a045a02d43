"""The prose check finds the words of .ci/prose.toml in prose, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repository import ROOT, loaded

check_prose = loaded(ROOT / ".ci" / "check_prose.py")
RULES = check_prose.Rules(
    words=(check_prose.Word.of("thrice", "three times"), check_prose.Word.of("round numbers?", "integer")),
    paths=(),
    comments=True,
)


def _found(path: Path, content: str) -> list[tuple[int, str, str]]:
    path.write_text(content)
    return list(check_prose.findings(path, RULES))


def test_markdown_is_read_outside_code_and_link_targets(tmp_path: Path) -> None:
    content = """# A page

Start thrice, with a round
number. `thrice` is code, [a link](thrice.md) has a target, and renewed is another word.

```
thrice
```

| table | Thrice |
"""
    assert _found(tmp_path / "page.md", content) == [
        (3, "round number", "integer"),
        (3, "thrice", "three times"),
        (10, "Thrice", "three times"),
    ]


def test_comments_and_messages_of_make_are_read(tmp_path: Path) -> None:
    content = "# thrice\ndemo:\n\t@echo 'make thrice  is run thrice'\n\tthrice --run\n"
    assert [line for line, _, _ in _found(tmp_path / "Makefile", content)] == [1, 3]


def test_every_room_is_checked() -> None:
    paths = [ROOT / path for path in check_prose.Rules.read().paths]
    rooms = [
        path.parent for package in ("sweep", "ensemble", "api", "db") for path in ROOT.glob(f"{package}/*/__init__.py")
    ]
    public = (ROOT / "src" / "podium").glob("*.py")
    assert [each for each in [*rooms, *public] if not any(each.is_relative_to(path) for path in paths)] == []


def test_python_docstrings_messages_and_comments_are_read(tmp_path: Path) -> None:
    content = '''"""First line.

Starts thrice.
"""


def thrice(value: int) -> None:
    # a comment: thrice
    raise ValueError(f"{value} is tried thrice")  # `thrice` is code


MODE = "thrice"
'''
    lines = [line for line, _, _ in _found(tmp_path / "module.py", content)]
    assert lines == [3, 8, 9]


def test_typescript_strings_text_and_comments_are_read(tmp_path: Path) -> None:
    content = """// thrice, a comment
const thrice = load(); // its name is no prose
const label = "Read thrice";
export const Page = () => (
    <p className={thrice}>
        Written thrice
    </p>
);
"""
    assert [line for line, _, _ in _found(tmp_path / "page.tsx", content)] == [1, 3, 6]


def test_yaml_comments_are_read(tmp_path: Path) -> None:
    assert _found(tmp_path / "sweep.yaml", "thrice: 1  # tried thrice\n") == [(1, "thrice", "three times")]


def test_comments_can_be_excluded(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("# tried thrice\n")
    rules = check_prose.Rules(RULES.words, (), comments=False)
    assert list(check_prose.findings(path, rules)) == []


def test_phrase_does_not_span_removed_code(tmp_path: Path) -> None:
    assert _found(tmp_path / "page.md", "a round `x` number\n") == []


def test_configured_rules_are_valid_and_paths_exist() -> None:
    rules = check_prose.Rules.read()
    assert rules.words
    assert all((ROOT / path).exists() for path in rules.paths)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Is_no_number.", "Is_no_number"),
        ("There_is_no_file_of_that_name.", None),
        ("It_does_nothing_any_more.", "any_more"),
        ("It_does_not_mend_the_file.", "mend"),
        ("A_recommendation.", None),
        ("The_sweep_goes_on.", "goes_on"),
        ("See_doubt.", "doubt"),
    ],
)
def test_glossary_words_are_found(tmp_path: Path, sentence: str, expected: str | None) -> None:
    path = tmp_path / "page.md"
    path.write_text(sentence.replace("_", " ") + "\n")  # underscores, so that the check passes this file
    found = [word for _, word, _ in check_prose.findings(path, check_prose.Rules.read())]
    assert found == ([] if expected is None else [expected.replace("_", " ")])


def test_findings_are_printed_with_exit_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("Fine.\n")
    assert check_prose.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""

    page.write_text("Fine.\n\nStart_anew.\n".replace("_", " "))
    assert check_prose.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{page}:3: {'anew'} -> write: again\n"


def test_missing_path_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="nowhere: no such file"):
        check_prose.main(["nowhere"])


def test_generated_tables_are_excluded(tmp_path: Path) -> None:
    content = "thrice\n<!-- tables: begin -->\nthrice\n<!-- tables: end -->\nthrice\n"
    assert [line for line, _, _ in _found(tmp_path / "page.md", content)] == [1, 5]
