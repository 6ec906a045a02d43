"""Shell completion of ids."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from podium.api.cli.terminal import id_completion

ANSWERS = {
    "/api/v1/sweeps?limit=50": {
        "items": [
            {"id": 12, "name": "late", "state": "running"},
            {"id": 11, "name": "early", "state": "finished"},
            {"id": 2, "name": "first", "state": "failed"},
        ],
        "next": None,
    },
    "/api/v1/devices": [{"id": "cpu-0", "state": "ready"}, {"id": "gpu-0", "state": "busy"}],
    "/api/v1/nodes": [{"name": "b", "state": "ready"}, {"name": "c", "state": "silent"}],
}


class _Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = ANSWERS.get(self.path) if self.headers["Authorization"] == "Bearer secret" else None
        self.send_response(200 if found else 401)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """The data directory of a service that knows three sweeps, two devices and two nodes."""
    with HTTPServer(("127.0.0.1", 0), _Api) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        (tmp_path / "service.json").write_text(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}))
        (tmp_path / "admin.token").write_text("secret\n")
        yield tmp_path
        server.shutdown()
        thread.join()


def _proposed(data_dir: Path, words: str) -> list[str]:
    """The completions that bash receives for `podium WORDS<tab>`."""
    environment = {
        **os.environ,
        "_PODIUM_COMPLETE": "complete_bash",
        "COMP_WORDS": f"podium {words}",
        "COMP_CWORD": str(len(words.split(" "))),
        "PODIUM_DATA_DIR": str(data_dir),
    }
    script = "import sys\nsys.argv = ['podium']\nfrom podium.api.cli.app import app\napp(prog_name='podium')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ("sweep show ", ["12", "11", "2"]),
        ("sweep show 1", ["12", "11"]),
        ("sweep pause 2 1", ["12", "11"]),
        ("devices drain g", ["gpu-0"]),
        ("node drain c", ["c"]),
        ("sweep li", ["list"]),
    ],
)
def test_ids_of_the_running_service_are_completed(data_dir: Path, words: str, proposed: list[str]) -> None:
    assert _proposed(data_dir, words) == proposed


def test_nothing_is_completed_without_a_service(tmp_path: Path) -> None:
    assert _proposed(tmp_path, "sweep show ") == []


@pytest.mark.parametrize("about", ["", "{}", "[]", '{"url": "http://127.0.0.1:1"}', '{"url": 3}', "null"])
def test_any_content_of_the_service_file_causes_no_error(tmp_path: Path, about: str) -> None:
    (tmp_path / "service.json").write_text(about)
    (tmp_path / "admin.token").write_text("secret")
    context: Any = SimpleNamespace(params={"data_dir": tmp_path})
    assert id_completion.sweep_ids(context, "") == []
