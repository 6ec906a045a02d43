"""Members of a real ensemble that are stopped, killed, damaged and replaced under load, as a client sees it."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from podium.api.client.client import Client
from podium.api.client.ensemble_responses import Prediction, ReplicaInfo
from podium.api.client.trial_responses import TrialInfo
from podium.sweep.values.errors import PodiumError
from tests.running_service import RunningService, wait_for
from tests.specs import builtin_document

DEADLINE_MS = 400.0
GRACE_MS = 50.0
ROWS = np.linspace(0, 1, 128, dtype=np.float32).reshape(2, 64)


@pytest.fixture(scope="module")
def trials(service: RunningService) -> list[TrialInfo]:
    """Four finished trials."""
    parameters = {"lr": {"min": 1e-3, "max": 1e-2, "log": True}, "epochs": {"value": 1}}
    sweep = service.client.submit(builtin_document(run_cap=4, parameters=parameters))
    assert service.client.wait(sweep["id"], 60)["state"] == "finished"
    return list(service.client.trials(sweep["id"]))


@pytest.fixture(scope="module")
def ensemble(service: RunningService, trials: list[TrialInfo]) -> int:
    """Members from the first three trials, of which two are enough; ready."""
    trial_ids = [trial["id"] for trial in trials[:3]]
    built = service.client.build_ensemble(trial_ids=trial_ids, deadline_ms=DEADLINE_MS, name="under-load")
    service.client.wait_ensemble(built["id"], 60)
    return int(built["id"])


class Load:
    """A client that sends requests in sequence during a `with` block and records every response and error."""

    def __init__(self, service: RunningService, ensemble: int) -> None:
        self.answers: list[Prediction] = []
        self.errors: list[str] = []
        self._client = Client.of(service.data.root)
        self._ensemble = ensemble
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self) -> None:
        while not self._ending.is_set():
            try:
                self.answers.append(self._client.predict(self._ensemble, ROWS))
            except PodiumError as error:
                self.errors.append(str(error))
            time.sleep(0.01)

    def wait_answers(self, count: int) -> list[Prediction]:
        """The next answers."""
        return self.answers_from(len(self.answers), count)

    def answers_from(self, start: int, count: int) -> list[Prediction]:
        """N responses from number `start` on, as soon as they have arrived."""
        wait_for(f"{count} answers; errors: {self.errors}", lambda: len(self.answers) >= start + count)
        return self.answers[start : start + count]

    def wait_version(self, number: int) -> None:
        """Wait until only that version answers: the gateway reads a change after the database has it."""
        start = len(self.answers)
        wait_for(
            f"version {number} alone answers; errors: {self.errors}",
            lambda: len(self.answers) >= start + 5 and {answer["version"] for answer in self.answers[-5:]} == {number},
        )

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(timeout=30)
        self._client.close()


def replica(service: RunningService, ensemble: int, position: int) -> ReplicaInfo:
    """The one process of a member, as REST shows it."""
    return service.client.ensemble(ensemble)["members"][position]["replicas"][0]


def pids(service: RunningService, ensemble: int) -> list[int | None]:
    return [member["replicas"][0]["pid"] for member in service.client.ensemble(ensemble)["members"]]


def statuses(answer: Prediction) -> list[str]:
    """The status of each member, by position."""
    return [member["status"] for member in answer["members"]]


def test_stopped_member_is_reported_and_delays_no_prediction(service: RunningService, ensemble: int) -> None:
    stopped = replica(service, ensemble, 1)["pid"]
    assert stopped is not None
    with Load(service, ensemble) as load:
        load.wait_answers(5)
        os.kill(stopped, signal.SIGSTOP)
        try:
            answers = load.answers_from(len(load.answers) + 1, 30)  # the next one was in flight
        finally:
            os.kill(stopped, signal.SIGCONT)
        wait_for("it is asked again", lambda: statuses(load.answers[-1]) == ["ok"] * 3, 20)
    assert load.errors == []
    for answer in answers:
        assert (answer["outcome"], answer["answered"], answer["degraded"]) == ("degraded", 2, True)
        assert statuses(answer)[1] in ("late", "skipped_open")
        assert answer["total_ms"] <= DEADLINE_MS + GRACE_MS
    assert statuses(answers[0])[1] == "late"
    assert statuses(answers[-1])[1] == "skipped_open", "and after a while it costs no time at all"


def test_killed_member_recovers_within_ten_seconds(service: RunningService, ensemble: int) -> None:
    before = replica(service, ensemble, 2)
    assert before["pid"] is not None
    with Load(service, ensemble) as load:
        os.kill(before["pid"], signal.SIGKILL)
        wait_for("it is back", lambda: replica(service, ensemble, 2)["epoch"] == before["epoch"] + 1 and
                 replica(service, ensemble, 2)["state"] == "ready", 10)  # fmt: skip
        wait_for("it answers", lambda: statuses(load.answers[-1])[2] == "ok", 5)
    assert load.errors == []
    assert {answer["answered"] for answer in load.answers} == {2, 3}
    after = replica(service, ensemble, 2)
    assert after["pid"] != before["pid"]
    assert after["restarts"] == before["restarts"] + 1
    assert service.client.wait_ensemble(ensemble, 5)["reason"] == ""


def test_members_survive_when_host_and_gateway_are_killed(service: RunningService, ensemble: int) -> None:
    before = pids(service, ensemble)
    with Load(service, ensemble) as load:
        service.kill("host")
        load.wait_answers(5)
    assert load.errors == []
    service.kill("gateway")
    wait_for("all answer", lambda: statuses(service.client.predict(ensemble, ROWS)) == ["ok"] * 3, 10)
    assert service.client.ensemble(ensemble)["state"] == "ready"
    assert pids(service, ensemble) == before


def test_version_change_under_load_fails_no_request(
    service: RunningService, trials: list[TrialInfo], ensemble: int
) -> None:
    trial_ids = [trial["id"] for trial in trials[1:]]
    with Load(service, ensemble) as load:
        service.client.add_version(ensemble, trial_ids=trial_ids, deadline_ms=DEADLINE_MS, canary_share=0.5)
        wait_for("both versions answer", lambda: {a["version"] for a in load.answers[-20:]} == {1, 2}, 30)
        service.client.promote(ensemble)
        wait_for("version 2 is active", lambda: service.client.ensemble(ensemble)["version"] == 2, 10)
        load.wait_version(2)
        service.client.roll_back(ensemble)
        wait_for("version 1 is back", lambda: service.client.ensemble(ensemble)["version"] == 1, 30)
        load.wait_version(1)
    assert load.errors == []
    assert {answer["version"] for answer in load.answers} == {1, 2}
    assert service.client.ensemble(ensemble)["state"] == "ready"


def test_damaged_model_is_reported_and_other_members_answer(
    service: RunningService, trials: list[TrialInfo], ensemble: int
) -> None:
    client = service.client
    client.stop_ensemble(ensemble)
    wait_for("stopped", lambda: {m["state"] for m in client.ensemble(ensemble)["members"]} == {"stopped"}, 10)
    with pytest.raises(PodiumError, match="stopped"):
        client.predict(ensemble, ROWS)
    model = service.attempt(trials[1]["sweep_id"], 1).model
    sound = model.read_bytes()
    model.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    try:
        client.start_ensemble(ensemble)
        wait_for("settled", lambda: client.ensemble(ensemble)["state"] == "degraded", 30)
    finally:
        model.write_bytes(sound)
    found = client.ensemble(ensemble)
    assert [member["state"] for member in found["members"]] == ["ready", "failed", "ready"]
    assert (
        f"trial 1 of sweep {trials[1]['sweep_id']}: {model.relative_to(service.data.root)} is damaged"
        in found["reason"]
    )
    assert str(service.data.root) not in found["reason"]
    assert client.predict(ensemble, ROWS)["answered"] == 2
    assert client.ready()["ready"]


def test_dedicated_device_runs_no_trials_until_released(
    service: RunningService, trials: list[TrialInfo], ensemble: int
) -> None:
    client = service.client
    client.retire_ensemble(ensemble)
    built = client.build_ensemble(trial_ids=[trials[3]["id"]], placement="dedicated")
    client.wait_ensemble(built["id"], 30)
    device_id = replica(service, built["id"], 0)["device_id"]
    states = {device["id"]: device["state"] for device in client.devices()}
    assert states.pop(str(device_id)) == "dedicated"
    assert set(states.values()) == {"ready"}
    document = builtin_document(run_cap=2, parameters={"lr": {"value": 0.01}, "epochs": {"value": 1}}, method="random")
    sweep = client.submit(document)
    assert client.wait(sweep["id"], 60)["state"] == "finished"
    attempts = [a for trial in client.trials(sweep["id"]) for a in client.trial(trial["id"])["attempts"]]
    assert {attempt["device"] for attempt in attempts} == set(states)
    client.retire_ensemble(built["id"])
    wait_for("given back", lambda: {device["state"] for device in client.devices()} == {"ready"}, 15)
