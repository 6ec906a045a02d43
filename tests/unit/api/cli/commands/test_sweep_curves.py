"""`podium sweep curves`: names of metrics, curves as CSV, and means by group."""

from __future__ import annotations

import json
import math

import pytest

from podium.api.client.client import Client
from tests.commands import Podium
from tests.service_rig import ServiceRig


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with a sweep of two trials with curves."""

    def client(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", client)
    sweep_id = service.sweep()
    for number, optimizer in enumerate(("adam", "sgd")):
        trial_id = service.trial(sweep_id, number, number / 10, params={"optimizer": optimizer})
        service.points(trial_id, "train/loss", 2.0, math.nan, 0.5 + number)
    return service


def test_without_a_metric_the_names_are_listed(podium: Podium, served: ServiceRig) -> None:
    assert podium("sweep", "curves", 1) == (0, "train/loss\n", "")
    code, out, _ = podium("sweep", "curves", 1, "--json")
    assert (code, json.loads(out)) == (0, [{"name": "train/loss", "goal": None}])


def test_each_point_is_a_row(podium: Podium, served: ServiceRig) -> None:
    code, out, err = podium("sweep", "curves", 1, "train/loss", "--filter", "optimizer:sgd")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "metric,trial,group,x,value",
        "train/loss,1,all trials,0,2.0",
        "train/loss,1,all trials,2,1.5",
        "train/loss,1,all trials,1.0,nan",
    ]


def test_groups_have_mean_and_range(podium: Podium, served: ServiceRig) -> None:
    code, out, _ = podium("sweep", "curves", 1, "train/loss", "--group", "state")
    assert code == 0
    assert out.splitlines() == [
        "metric,group,x,mean,minimum,maximum,trials",
        "train/loss,finished,0,2.0,2.0,2.0,2",
        "train/loss,finished,2,1.0,0.5,1.5,2",
    ]


def test_refused_axis_names_the_choices(podium: Podium, served: ServiceRig) -> None:
    code, _, err = podium("sweep", "curves", 1, "train/loss", "--x", "speed")
    assert code != 0
    assert "metric:NAME" in err
