"""`podium trial …` with `SWEEP.NUMBER` instead of an id."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.api.client.client import Client
from tests.commands import Podium
from tests.service_rig import ServiceRig


@pytest.fixture
def trial_id(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> int:
    """Trial 0 of sweep 3, which every command finds."""

    def client(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", client)
    for name in ("a", "b"):
        service.trial(service.sweep(name=name), 0, 0.5)
    return service.trial(service.sweep(name="c"), 0, 0.5)


def found(podium: Podium, *arguments: object) -> Any:
    code, out, err = podium("trial", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_trial_is_shown_by_its_sweep_and_number(podium: Podium, trial_id: int) -> None:
    assert found(podium, "show", "3.0")["id"] == trial_id
    assert found(podium, "show", trial_id)["id"] == trial_id


def test_several_trials_are_tagged_by_both_kinds_of_names(podium: Podium, trial_id: int) -> None:
    tagged = found(podium, "tag", "1.0", trial_id, "--add", "keep")
    assert [each["sweep_id"] for each in tagged] == [1, 3]


def test_unknown_and_invalid_names_are_refused(podium: Podium, trial_id: int) -> None:
    code, _, err = podium("trial", "show", "3.9")
    assert (code, "there is no trial 9 of sweep 3" in err) == (1, True)
    for name in ("3/9", "3.", ".9", "best", "-1"):
        assert podium("trial", "show", name)[0] == 2
    assert "not 'best'" in podium("trial", "show", "best")[2]
