"""What a trial reads of its study: pages of bounded size, the best trial, one curve."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.db.queries import trial_study_queries
from podium.sweep.lifecycle.database_changes import AttemptEnded, ParamDefined
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Ended, StudyRequested
from podium.sweep.values.states import TrialState
from tests.service_rig import AT, ServiceRig


def _answer(service: ServiceRig, sweep_id: int, what: str, number: int = 0, **sizes: int) -> dict[str, Any]:
    asked = StudyRequested(AttemptKey(1, 1), 1, what, number)
    with service.database.read() as connection:
        found: dict[str, Any] = json.loads(
            json.dumps(trial_study_queries.answer_query(connection, sweep_id, asked, **sizes))
        )
        return found


def test_page_has_all_fields_of_its_trials(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    first = service.trial(sweep_id, 0, 0.75, user_attrs={"note": [1]}, constraints={"size": -1.0})
    pruned = service.trial(sweep_id, 1, None)
    service.points(pruned, "val_accuracy", 0.25, 0.5)
    key = AttemptKey(pruned, 1)
    service.commit(
        ParamDefined(pruned, "width", 8, {"min": 8, "max": 64}),
        AttemptEnded(Ended(key, TrialState.PRUNED, AT + 1, AT + 2), sweep_id, 1, TrialState.PRUNED),
    )
    service.trial(service.sweep(name="another"), 0, 0.99)
    answer = _answer(service, sweep_id, "trials")
    assert answer["next"] is None
    assert answer["trials"][0] == {
        "id": first, "number": 0, "state": "finished", "values": [0.75], "params": {"lr": 0.01}, "distributions": {},
        "user_attrs": {"note": [1]}, "constraints": {"size": -1.0}, "started_at": AT + 1, "ended_at": AT + 3,
    }  # fmt: skip
    second = answer["trials"][1]
    assert (second["state"], second["values"]) == ("pruned", [0.5])  # its last report, as in Optuna
    assert second["distributions"] == {"width": {"min": 8, "max": 64}}
    assert _answer(service, sweep_id, "curve", 1) == {"curve": [[0, 0.25], [1, 0.5]]}
    assert _answer(service, sweep_id, "curve", 7) == {"curve": []}


def test_best_trial_violates_no_constraint(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    assert _answer(service, sweep_id, "best") == {"trials": [], "next": None}
    service.trial(sweep_id, 0, 0.99, constraints={"size": 0.5})
    assert _answer(service, sweep_id, "best")["trials"] == []
    service.trial(sweep_id, 1, 0.5)
    service.trial(sweep_id, 2, 0.25)
    assert [trial["number"] for trial in _answer(service, sweep_id, "best")["trials"]] == [1]


@pytest.mark.parametrize(("trials", "most"), [(2, 1 << 20), (200, 700)])
def test_pages_of_a_long_list_contain_each_trial_once(service: ServiceRig, trials: int, most: int) -> None:
    sweep_id = service.sweep()
    for number in range(5):
        service.trial(sweep_id, number, 0.5, user_attrs={"text": "x" * (2000 if number == 3 else 10)}, model=False)
    numbers: list[int] = []
    pages, number = 0, 0
    while number is not None:
        page = _answer(service, sweep_id, "trials", number, page_trials=trials, page_bytes=most)
        numbers += [trial["number"] for trial in page["trials"]]
        pages, number = pages + 1, page["next"]
    assert numbers == [0, 1, 2, 3, 4]
    assert pages >= 3
