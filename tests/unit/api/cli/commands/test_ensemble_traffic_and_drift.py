"""`podium ensemble traffic`, `events` and `drift`, against the routes of a service without processes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from podium.api.client.client import Client
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.ensemble.serving.input_feature_statistics import Moments, to_json
from tests.commands import Podium
from tests.service_rig import AT, ServiceRig


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with an ensemble one of whose members died."""

    def client(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", client)
    sweep_id = service.sweep()
    trial_ids = [service.trial(sweep_id, number, number / 10) for number in range(2)]
    ensemble_id = service.ensemble(sweep_id, trial_ids, "digits best", features=64)
    died = {"version": 1, "members": [1], "reason": "killed by SIGKILL"}
    with service.database.write() as connection:
        event = NewEvent(AT, "ensemble.member_restarting", ensemble_id=ensemble_id, payload=died)
        event_outbox.add(connection, [event])
    return service


def test_events_name_members_by_their_trials(podium: Podium, served: ServiceRig) -> None:
    code, out, err = podium("ensemble", "events", "digits best", "--limit", "1")
    assert (code, err) == (0, "")
    (line,) = out.splitlines()[1:]
    for words in ("member restarting", " 1 ", "killed by SIGKILL"):
        assert words in line
    assert "of sweep 1" in line
    (found,) = json.loads(podium("ensemble", "events", 1, "--limit", "1", "--json")[1])
    assert len(found["member_names"]) == 1


def test_traffic_has_a_line_for_each_interval(podium: Podium, served: ServiceRig) -> None:
    code, out, err = podium("ensemble", "traffic", 1, "--minutes", "3")
    assert (code, err) == (0, "")
    assert [line.split()[1:] for line in out.splitlines()[1:]] == [["0", "0", "0", "–", "–", "–"]] * 3
    assert json.loads(podium("ensemble", "traffic", 1, "--minutes", "3", "--json")[1])["interval_s"] == 60


def test_drift_has_the_features_that_differ_most_or_says_why_not(podium: Podium, served: ServiceRig) -> None:
    assert podium("ensemble", "drift", 1)[1].startswith("nothing to compare: 0 of at least 200 rows")
    rows = np.zeros((300, 64))
    rows[:, 20] = 1000
    served.settings.data.recent_inputs("gateway").write_bytes(to_json({1: Moments.of(rows)}))
    code, out, err = podium("ensemble", "drift", 1, "--most", "2")
    assert (code, err) == (0, "")
    first, columns, *lines = out.splitlines()
    assert "of the 300 sampled rows differ by more than 0.5 standard deviations" in first
    assert columns.split()[0] == "feature"
    assert len(lines) == 2
    assert len(json.loads(podium("ensemble", "drift", 1, "--most", "2", "--json")[1])["features"]) == 2


def test_an_unknown_ensemble_is_reported(podium: Podium, served: ServiceRig) -> None:
    code, _, err = podium("ensemble", "drift", 99)
    assert code != 0
    assert "99" in err
