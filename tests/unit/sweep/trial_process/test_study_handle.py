"""`trial.study` with a fake slot: queries, refused methods, and independence of Optuna."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

import pytest

from podium.sweep.protocol.slot_commands import PruneAnswer, StudyAnswer, TrialAnswer
from podium.sweep.protocol.trial_messages import TrialMessage
from podium.sweep.trial_process.optuna_frozen_trial import FrozenTrial, State, StudyDirection
from podium.sweep.trial_process.slot_answer_wait import SlotAnswers
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.study_handle import Study
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.errors import NotInTrialError, StudyUnavailableError
from podium.sweep.values.slot_events import StopRequested, StudyRequested

Respond = Callable[[StudyRequested], dict[str, Any]]  # the answer, and perhaps `error`


class PlayedChannel:
    """Answers each question at once."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self.sent: list[TrialMessage] = []
        self._waiting: list[TrialAnswer] = []

    def send(self, message: TrialMessage) -> None:
        self.sent.append(message)
        if isinstance(message, StudyRequested):
            fields = {"request": message.request, "answer": {}, **self._respond(message)}
            self._waiting += [
                PruneAnswer(message.key, 3, False), StudyAnswer(message.key, **fields)
            ]  # fmt: skip

    def queries(self) -> list[StudyRequested]:
        return [message for message in self.sent if isinstance(message, StudyRequested)]

    def receive(self, timeout_s: float | None) -> TrialAnswer | None:
        return self._waiting.pop(0) if self._waiting else None


class Own:
    """The running trial."""

    params: dict[str, Any] = {"x": 7}  # noqa: RUF012
    user_attrs: dict[str, Any] = {"mine": 1}  # noqa: RUF012
    constraints: dict[str, float] = {}  # noqa: RUF012


def _record(number: int, state: str, *values: float, **rest: Any) -> dict[str, Any]:
    plain = {"params": {"x": number}, "distributions": {}, "user_attrs": {}, "constraints": {}}
    times = {"started_at": 1.0, "ended_at": 2.0}
    return {"id": number + 1, "number": number, "state": state, "values": values or None, **plain, **times, **rest}


def _study(respond: Respond, **changes: Any) -> tuple[Study, PlayedChannel]:
    values: dict[str, Any] = {
        "sweep_id": 4, "trial_id": 9, "number": 2, "attempt": 1, "params": {}, "seed": 0, "metric": "score",
        "program": {}, "split": {}, "directory": "/nowhere", "data_cache": "/nowhere", "sweep_name": "digits",
        "goals": ("maximize",),
    }  # fmt: skip
    played = PlayedChannel(respond)
    channel = cast(Channel, played)
    return Study(Assignment(**{**values, **changes}), channel, SlotAnswers(channel), Own()), played


def _pages(*pages: list[dict[str, Any]]) -> Respond:
    """The trials, a page at a time."""
    firsts = [page[0]["number"] for page in pages[1:]] + [None]

    def respond(query: StudyRequested) -> dict[str, Any]:
        index = next(i for i, page in enumerate(pages) if page[-1]["number"] >= query.number)
        return {"answer": {"trials": pages[index], "next": firsts[index]}}

    return respond


def test_summary_needs_no_query() -> None:
    study, channel = _study(_pages([]))
    assert (study.study_name, study.metric_names) == ("digits", ["score"])
    assert (study.direction, study.directions) == (StudyDirection.MAXIMIZE, [StudyDirection.MAXIMIZE])
    assert study.user_attrs == {}
    assert (study._study_id, study._is_multi_objective()) == (4, False)  # Optuna's names, which its integrations read
    assert channel.sent == []


def test_directions_are_optuna_members_if_optuna_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import optuna

    study, _ = _study(_pages([_record(0, "finished", 1.0), _record(2, "running")]))
    assert study.direction is optuna.study.StudyDirection.MAXIMIZE
    assert study.trials[1].state is optuna.trial.TrialState.RUNNING
    for module in ("optuna.study", "optuna.trial"):
        monkeypatch.delitem(sys.modules, module)
    own: Any = study.direction
    assert own is StudyDirection.MAXIMIZE
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE  # and equal, if it is imported later
    assert study.directions != [optuna.study.StudyDirection.MINIMIZE]
    assert [trial.state for trial in study.trials] == [optuna.trial.TrialState.COMPLETE, State.RUNNING]


def test_trials_are_read_by_page_and_running_one_has_own_attributes() -> None:
    study, channel = _study(_pages([_record(0, "finished", 0.5)], [_record(1, "failed"), _record(2, "running")]))
    trials = study.trials
    assert [(trial.number, trial.params["x"]) for trial in trials] == [(0, 0), (1, 1), (2, 7)]
    assert [trial.value for trial in trials] == [0.5, None, None]
    assert trials[2].user_attrs == {"mine": 1}
    assert [query.number for query in channel.queries()] == [0, 1]
    assert [trial.number for trial in study.get_trials(states=(State.COMPLETE,))] == [0]
    assert trials[0].duration is not None and trials[0].duration.total_seconds() == 1.0


def test_curve_of_a_trial_is_read_on_first_access() -> None:
    pages = _pages([_record(0, "finished", 0.5), _record(2, "running")])

    def respond(query: StudyRequested) -> dict[str, Any]:
        return {"answer": {"curve": [[0, 0.25], [5, 0.5]]}} if query.what == "curve" else pages(query)

    study, channel = _study(respond)
    first = study.trials[0]
    assert len(channel.sent) == 1
    assert (first.intermediate_values, first.last_step) == ({0: 0.25, 5: 0.5}, 5)
    assert len(channel.sent) == 2


def test_best_trial_is_queried_alone() -> None:
    study, channel = _study(lambda _: {"answer": {"trials": [_record(0, "finished", 0.5)], "next": None}})
    assert (study.best_value, study.best_params, study.best_trial.number) == (0.5, {"x": 0}, 0)
    assert {query.what for query in channel.queries()} == {"best"}


def test_no_best_trial_without_a_finished_one() -> None:
    study, _ = _study(lambda _: {"answer": {"trials": [], "next": None}})
    for name in ("best_value", "best_trial", "best_params"):
        with pytest.raises(ValueError, match="No trials are completed yet"):
            getattr(study, name)
    assert study.best_trials == []


def test_pareto_front_excludes_constraint_violations() -> None:
    found = [
        _record(0, "finished", 1.0, 5.0),
        _record(1, "finished", 2.0, 9.0),
        _record(3, "finished", 9.0, 1.0, constraints={"size": 0.5}),
        _record(4, "finished", 0.5, 6.0),
        _record(5, "pruned"),
    ]
    several = {"objectives": ("score", "cost"), "goals": ("maximize", "minimize")}
    study, _ = _study(_pages(found), **several)
    assert [trial.number for trial in study.best_trials] == [0, 1]
    assert study.best_trials[0].values == [1.0, 5.0]
    for name in ("direction", "best_trial", "best_value", "best_params"):
        with pytest.raises(RuntimeError, match="several objectives"):
            getattr(study, name)
    with pytest.raises(RuntimeError, match="several objectives"):
        _ = study.best_trials[0].value


def test_stop_is_sent_once() -> None:
    study, channel = _study(_pages([]))
    study.stop()
    study.stop()
    assert channel.sent == [StopRequested(AttemptKey(9, 1))]


@pytest.mark.parametrize("name", ["optimize", "ask", "tell", "enqueue_trial", "add_trial"])
def test_service_methods_are_rejected(name: str) -> None:
    study, channel = _study(_pages([]))
    with pytest.raises(NotInTrialError, match=f"trial.study.{name} is not available in a trial: "):
        getattr(study, name)({})
    with pytest.raises(NotInTrialError, match=r"use trial\.set_user_attr"):
        study.set_user_attr("a", 1)
    assert not hasattr(study, "sampler") and not hasattr(study, "pruner")
    assert channel.sent == []


def test_service_error_is_raised() -> None:
    study, _ = _study(lambda _: {"error": "DatabaseError: locked"})
    with pytest.raises(StudyUnavailableError, match="failed to read the study: DatabaseError: locked"):
        _ = study.trials
    silent, _ = _study(lambda _: {"request": 99})
    with pytest.raises(StudyUnavailableError, match="no response from the service within 60 s"):
        _ = silent.trials


def test_frozen_trial_has_attributes_of_optuna() -> None:
    import optuna

    theirs = optuna.trial.create_trial(value=1.0)
    public = {name for name in dir(theirs) if not name.startswith("_")}
    methods = {"report", "should_prune", "set_user_attr", "set_constraint"}  # of a trial that runs
    ours = FrozenTrial(number=0, state=State.COMPLETE, params={}, values=[1.0], constraints={"size": 1.0})
    assert {name for name in public - methods if not name.startswith("suggest_")} <= set(dir(ours))
    assert ours.system_attrs == {"constraints:size": 1.0}
    assert ours == FrozenTrial(number=0, state=State.COMPLETE, params={}, values=[1.0], constraints={"size": 1.0})
    assert ours < FrozenTrial(number=1, state=State.FAIL, params={})
    assert ours.state.is_finished() and not State.RUNNING.is_finished() and str(ours.state) == "TrialState.COMPLETE"
