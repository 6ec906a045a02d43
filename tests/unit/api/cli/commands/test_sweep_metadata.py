"""`podium sweep rename`, `describe`, `tag`, `move`, `star`, `archive`, and what lists and submissions know of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from podium.api.client.client import Client
from tests.commands import Podium
from tests.service_rig import ServiceRig
from tests.specs import builtin_document


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with an ended sweep "a" and a queued sweep "b"."""

    def client(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", client)
    service.sweep(name="a")
    service.sweep(name="b")
    service.end_sweep(1)
    return service


def test_sweep_is_renamed_and_described(podium: Podium, served: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> None:
    assert podium("sweep", "rename", 1, "better name")[:2] == (0, "sweep 1 'better name'\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("# Why\n\nbecause\n"))
    code, out, _ = podium("sweep", "describe", 1, "-", "--json")
    assert (code, json.loads(out)["description"]) == (0, "# Why\n\nbecause")
    shown = podium("sweep", "show", 1)[1]
    assert "better name" in shown
    assert "# Why" in shown and "because" in shown
    assert podium("sweep", "describe", 1, "")[0] == 0
    assert podium("sweep", "rename", 1, "")[0] == 2


def test_several_sweeps_are_tagged_and_a_refusal_does_not_stop_the_others(podium: Podium, served: ServiceRig) -> None:
    code, out, err = podium("sweep", "tag", 1, 9, 2, "--add", "keep", "--add", "paper")
    assert (code, out) == (1, "sweep 1 'a': tags keep paper\nsweep 2 'b': tags keep paper\n")
    assert "there is no sweep 9" in err
    assert podium("sweep", "tag", 1, "--remove", "keep")[1] == "sweep 1 'a': tags paper\n"
    assert podium("sweep", "tag", 1)[0] == 2


def test_list_follows_project_filter_and_archive(podium: Podium, served: ServiceRig) -> None:
    assert podium("sweep", "move", 1, 2, "--project", "my project")[0] == 0
    assert podium("sweep", "star", 1)[1] == "sweep 1 'a': project my project; starred\n"
    listed = podium("sweep", "list", "--project", "my project")[1]
    assert "★ a" in listed and "my project" in listed
    assert [each["id"] for each in json.loads(podium("sweep", "list", "--filter", "is:starred", "--json")[1])] == [1]
    code, out, err = podium("sweep", "archive", 1, 2)
    assert (code, out) == (1, "sweep 1 'a': project my project; starred; archived\n")
    assert "stop or cancel it first" in err
    assert [each["id"] for each in json.loads(podium("sweep", "list", "--json")[1])] == [2]
    assert [each["id"] for each in json.loads(podium("sweep", "list", "--filter", "is:archived", "--json")[1])] == [1]
    assert podium("sweep", "archive", 1, "--remove")[0] == 0
    assert podium("sweep", "star", 1, "--remove")[1] == "sweep 1 'a': project my project\n"
    assert podium("sweep", "list", "--filter", "projekt:x")[0] != 0


def test_project_of_the_command_line_replaces_that_of_the_file(
    podium: Podium, served: ServiceRig, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(builtin_document(name="c", project="of the file", tags=["x"])))
    assert json.loads(podium("sweep", "submit", path, "--json")[1])["project"] == "of the file"
    sweep = json.loads(podium("sweep", "submit", path, "--project", "mine", "--json")[1])
    assert (sweep["project"], sweep["tags"], sweep["owner"]) == ("mine", ["x"], "admin")
    assert "project: mine" in podium("sweep", "show", sweep["id"])[1]
