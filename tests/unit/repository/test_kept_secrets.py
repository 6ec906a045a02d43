"""The check of what a service leaves finds a token in a log, and none in the token files."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.runtime.layout import DataDirectory
from tests.kept_secrets import assert_no_token_left


def test_a_token_in_a_log_is_found_and_one_in_its_file_is_not(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    data.prepare()
    data.admin_token.write_text("podium_abc\n")
    data.ray_token.write_text("0123abcd")
    (data.logs / "api.log").write_text("all is well")
    assert_no_token_left(data)
    (data.logs / "api.log").write_text("asked with podium_abc")
    with pytest.raises(AssertionError, match=r"api\.log has what admin\.token has"):
        assert_no_token_left(data)


def test_a_service_that_never_came_up_has_none(tmp_path: Path) -> None:
    assert_no_token_left(DataDirectory(tmp_path))
