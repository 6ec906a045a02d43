"""`podium sweep submit` of several files, as a chain and without, and `podium sweep release`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.api.client.client import Client
from podium.sweep.values.states import SweepState
from tests.commands import Podium
from tests.service_rig import ServiceRig
from tests.specs import builtin_document


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with a sweep named "coarse"."""

    def client(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", client)
    service.sweep(name="coarse")
    return service


def write(folder: Path, file: str, **changes: Any) -> Path:
    path = folder / f"{file}.json"
    path.write_text(json.dumps(builtin_document(**{"name": file, **changes})))
    return path


def test_chain_uses_the_names_of_its_own_files(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    fix_from = {"sweep": "coarse", "parameters": ["lr"]}
    files = [
        write(tmp_path, "coarse"),
        write(tmp_path, "fine", fix_from=fix_from),
        write(tmp_path, "last", after=["coarse"]),
    ]
    code, out, err = podium("sweep", "submit", *files, "--chain", "--json")
    assert (code, err) == (0, "")
    sweeps = json.loads(out)
    assert [[each["id"] for each in sweep["predecessors"]] for sweep in sweeps] == [[], [2], [2, 3]]
    assert sweeps[1]["spec"]["fix_from"]["sweep"] == 2


def test_submitted_sweeps_are_printed_with_what_they_wait_for(
    podium: Podium, served: ServiceRig, tmp_path: Path
) -> None:
    code, out, _ = podium("sweep", "submit", write(tmp_path, "a"), write(tmp_path, "b"), "--after", "coarse")
    assert code == 0
    assert out.count("is queued, after sweep 1 'coarse' (queued)") == 2
    assert "after: sweep 1 'coarse' (queued)" in podium("sweep", "show", 2)[1]
    assert "before: sweep 2 'a' (queued), sweep 3 'b' (queued)" in podium("sweep", "show", 1)[1]


def test_error_names_the_sweeps_that_were_submitted(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    files = write(tmp_path, "a"), write(tmp_path, "b", after=["unknown"])
    code, _, err = podium("sweep", "submit", *files, "--chain")
    assert code == 2
    assert "submitted before this error: sweep 2" in err
    assert "b.json" in err and "no sweep is named 'unknown'" in err


def test_invalid_file_leaves_all_files_unsubmitted(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    files = write(tmp_path, "a"), write(tmp_path, "b", methd="tpe")
    assert podium("sweep", "submit", *files, "--chain")[0] == 2
    assert len(json.loads(podium("sweep", "list", "--json")[1])) == 1


def test_chain_of_one_file_is_refused(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    code, _, err = podium("sweep", "submit", write(tmp_path, "a"), "--chain")
    assert (code, "--chain needs at least two files" in err) == (2, True)


def test_sweep_is_released_by_the_command(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    podium("sweep", "submit", write(tmp_path, "a"), "--after", 1)
    served.end_sweep(1, SweepState.FAILED)
    assert podium("sweep", "release", 2) == (0, "sweep 2 is queued\n", "")
    code, _, err = podium("sweep", "release", 1)
    assert (code, "sweep 1 does not wait for other sweeps" in err) == (1, True)
