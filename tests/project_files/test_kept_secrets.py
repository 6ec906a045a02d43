"""The check for leaked secrets finds a token in a log, and ignores the token files."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.runtime.layout import DataDirectory
from tests.token_leaks import assert_no_token_left


def test_token_in_log_is_found_and_token_file_is_ignored(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    data.prepare()
    data.admin_token.write_text("podium_abc\n")
    data.ray_token.write_text("0123abcd")
    (data.logs / "api.log").write_text("all is well")
    assert_no_token_left(data)
    (data.logs / "api.log").write_text("asked with podium_abc")
    with pytest.raises(AssertionError, match=r"api\.log has what admin\.token has"):
        assert_no_token_left(data)


def test_service_that_never_started_has_no_tokens(tmp_path: Path) -> None:
    assert_no_token_left(DataDirectory(tmp_path))
