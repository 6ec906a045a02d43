"""The reports before a checkpoint count in the attempt that continues from it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from podium.sweep.protocol.trial_messages import AttrsReported, parse_from_trial
from podium.sweep.trial_process.attempt_runner import outcome_of
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.trial_process.user_function_runner import report_yielded
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey, Interval
from podium.sweep.values.attempt_outcomes import ReportedOutcome
from podium.sweep.values.slot_events import Reported
from podium.sweep.values.states import TrialState

Program = Callable[[Trial], Any]


class RepeatedTrial:
    """A trial whose attempts run in this process, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._attempts = 0
        self._sockets: list[socket.socket] = []

    def attempt(self, program: Program, objectives: Sequence[str] = ("loss",), **changes: Any) -> ReportedOutcome:
        """How the next attempt ends."""
        self._attempts += 1
        values: dict[str, Any] = {
            "sweep_id": 1, "trial_id": 1, "number": 0, "attempt": self._attempts, "params": {}, "seed": 0,
            "metric": "loss", "program": {}, "split": {}, "directory": str(self.folder / str(self._attempts)),
            "data_cache": str(self.folder), "objectives": tuple(objectives),
        }  # fmt: skip
        assignment = Assignment(**{**values, **changes})
        ours, theirs = socket.socketpair()
        self._sockets += [ours, theirs]
        trial = Trial(assignment, Channel(ours), cast(Any, "cpu"))  # no tensor is created
        trial.directory.prepare()
        return outcome_of(program, trial, assignment)

    def sent(self) -> list[AttrsReported]:
        """The attributes that the last attempt has sent."""
        return [each for each in self._messages() if isinstance(each, AttrsReported)]

    def reported(self) -> list[tuple[int, float]]:
        """The steps and values that the last attempt has reported."""
        return [(each.step, each.value) for each in self._messages() if isinstance(each, Reported)]

    def _messages(self) -> list[object]:
        ours, theirs = self._sockets[-2:]
        ours.shutdown(socket.SHUT_WR)
        with theirs.makefile("rb") as lines:
            return [parse_from_trial(line, AttemptKey(1, self._attempts)) for line in lines]

    def close(self) -> None:
        for each in self._sockets:
            each.close()


@pytest.fixture
def repeated(tmp_path: Path) -> Iterator[RepeatedTrial]:
    made = RepeatedTrial(tmp_path)
    yield made
    made.close()


def training(losses: Sequence[float], source: Path, *, fails: bool = False, returned: float | None = None) -> Program:
    """Reports the losses of the epochs after the newest checkpoint, and saves one after each."""

    def program(trial: Trial) -> float | None:
        found = trial.resume_folder()
        for epoch in range(0 if found is None else found.iteration + 1, len(losses)):
            trial.report(losses[epoch], epoch)
            trial.save_checkpoint_folder(source, epoch)
        if fails:
            raise OSError("the machine fails")
        return returned

    return program


def yielding(values: Sequence[Any], source: Path, *, fails: bool = False) -> Program:
    """Yields the values of the epochs after the newest checkpoint, and saves one after each."""

    def epochs(trial: Trial) -> Generator[Any, None, None]:
        found = trial.resume_folder()
        for epoch in range(0 if found is None else found.iteration + 1, len(values)):
            yield values[epoch]
            trial.save_checkpoint_folder(source, epoch)
        if fails:
            raise OSError("the machine fails")

    return lambda trial: report_yielded(epochs(trial), trial)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source").mkdir()
    return tmp_path / "source"


@pytest.mark.parametrize(("rule", "value"), [("last", 0.5), ("min", 0.25), ("max", 0.75)])
def test_attempt_that_continues_after_the_last_epoch_has_the_values_before(
    repeated: RepeatedTrial, source: Path, rule: str, value: float
) -> None:
    losses = (0.75, 0.25, 0.5)
    assert repeated.attempt(training(losses, source, fails=True), objective=rule).state == TrialState.FAILED
    outcome = repeated.attempt(training(losses, source), objective=rule)
    assert (outcome.state, outcome.values, outcome.remark) == (TrialState.FINISHED, (value,), "")


def test_best_value_before_a_checkpoint_counts_beyond_several_attempts(repeated: RepeatedTrial, source: Path) -> None:
    for count in (2, 3):
        repeated.attempt(training((0.1, 0.9, 0.5)[:count], source, fails=True), objective="min")
    assert repeated.attempt(training((0.1, 0.9, 0.5, 0.3), source), objective="min").values == (0.1,)


def test_attempt_without_the_checkpoint_starts_without_reports(repeated: RepeatedTrial, source: Path) -> None:
    repeated.attempt(training((0.1, 0.2), source, fails=True), objective="min")
    outcome = repeated.attempt(lambda trial: trial.report(0.7, 0), objective="min")
    assert outcome.values == (0.7,)


def test_program_that_starts_again_in_spite_of_a_checkpoint_starts_without_reports(
    repeated: RepeatedTrial, source: Path
) -> None:
    repeated.attempt(training((0.1, 0.2, 0.3), source, fails=True), objective="min")

    def again(trial: Trial) -> None:
        assert trial.resume_folder() is not None
        for epoch in range(2):
            trial.report(0.7 + epoch, epoch)

    assert repeated.attempt(again, objective="min", stop=(("training_iteration", 3.0),)).values == (0.7,)


def test_loading_the_checkpoint_again_does_not_take_reports_back(repeated: RepeatedTrial, source: Path) -> None:
    repeated.attempt(training((0.4,), source, fails=True), objective="min")

    def loads_twice(trial: Trial) -> None:
        trial.resume_folder()
        trial.report(0.2, 1)
        trial.resume_folder()

    assert repeated.attempt(loads_twice, objective="min").values == (0.2,)


def test_iterations_are_counted_from_the_first_attempt(repeated: RepeatedTrial, source: Path) -> None:
    losses = tuple(1.0 / (epoch + 1) for epoch in range(9))
    stop = (("training_iteration", 4.0),)
    assert repeated.attempt(training(losses[:2], source, fails=True), stop=stop).state == TrialState.FAILED
    outcome = repeated.attempt(training(losses, source), stop=stop)
    assert (outcome.values, outcome.message) == ((0.25,), "stop: training_iteration 4 reached 4")


def test_steps_of_yielded_numbers_continue_after_the_checkpoint(repeated: RepeatedTrial, source: Path) -> None:
    losses = (0.1, 0.4, 0.3, 0.2)

    assert repeated.attempt(yielding(losses[:2], source, fails=True), objective="min").state == TrialState.FAILED
    assert repeated.reported() == [(0, 0.1), (1, 0.4)]
    assert repeated.attempt(yielding(losses, source), objective="min").values == (0.1,)
    assert repeated.reported() == [(2, 0.3), (3, 0.2)]


def test_steps_of_yielded_numbers_continue_if_the_metric_is_no_objective(repeated: RepeatedTrial, source: Path) -> None:
    yielded = (0.1, 0.4, 0.3)
    repeated.attempt(yielding(yielded[:2], source, fails=True), ("loss",), metric="val")
    repeated.attempt(yielding(yielded, source), ("loss",), metric="val")
    assert repeated.reported() == [(2, 0.3)]


def test_steps_of_yielded_numbers_continue_after_those_of_an_objective_that_is_rare(
    repeated: RepeatedTrial, source: Path
) -> None:
    yielded = ({"size": 1.0}, {"size": 2.0, "loss": 0.5}, {"size": 3.0}, {"size": 4.0, "loss": 0.25})
    repeated.attempt(yielding(yielded[:3], source, fails=True))
    assert repeated.reported() == [(1, 0.5)]
    repeated.attempt(yielding(yielded, source))
    assert repeated.reported() == [(3, 0.25)]


def test_steps_of_yielded_numbers_continue_in_the_next_interval_of_a_population(repeated: RepeatedTrial) -> None:
    interval = Interval(number=2, steps=5, after_step=4, value=0.5)

    def epochs(_: Trial) -> Generator[float, None, None]:
        yield 0.3

    repeated.attempt(lambda trial: report_yielded(epochs(trial), trial), interval=interval)
    assert repeated.reported() == [(5, 0.3)]


def test_checkpoint_of_the_next_report_has_its_values(repeated: RepeatedTrial, source: Path) -> None:
    def saves_first(trial: Trial) -> None:
        trial.log({"loss": 0.5, "size": 7.0}, 0)
        numbers: dict[str, Any] = {"loss": np.float32(0.25), "size": np.int64(3), "time": 1.0}
        trial.save_checkpoint_folder(source, 1, (1, numbers))
        raise OSError("the machine fails")

    repeated.attempt(saves_first, ("loss", "size"))
    outcome = repeated.attempt(training((), source), ("loss", "size"))
    assert outcome.values == (0.25, 3.0)


def test_value_unlike_the_reports_has_a_remark(
    repeated: RepeatedTrial, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repeated.attempt(training((0.5, 0.25), source, fails=True))
    outcome = repeated.attempt(training((0.5, 0.25), source, returned=0.0))
    assert outcome.values == (0.0,)
    assert outcome.remark == (
        "continued after step 1, reported nothing, and returned 0, while 0.25 was reported before: if the training "
        "loop sets the value, return nothing, or compute it after the loop"
    )
    assert f"podium: {outcome.remark}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("losses", "returned"),
    [((0.25, 0.5), 0.25), ((0.25, 0.5), 0.5), ((0.25, 0.5), 0.2500000001), ((0.25, 0.5, 0.2), 0.1)],
    ids=["the best report", "the last report", "computed again", "after further training"],
)
def test_value_like_a_report_or_of_further_training_has_no_remark(
    repeated: RepeatedTrial, source: Path, losses: Sequence[float], returned: float
) -> None:
    repeated.attempt(training((0.25, 0.5), source, fails=True), objective="min")
    assert repeated.attempt(training(losses, source, returned=returned), objective="min").remark == ""


def test_logs_before_the_checkpoint_is_loaded_do_not_hide_its_reports(repeated: RepeatedTrial, source: Path) -> None:
    repeated.attempt(training((0.1, 0.9), source, fails=True), objective="min")

    def logs_first(trial: Trial) -> None:
        trial.log({"parameters": 7.0}, 0)
        training((0.1, 0.9), source)(trial)

    assert repeated.attempt(logs_first, objective="min").values == (0.1,)


def test_objective_of_an_early_step_after_others_of_this_attempt_is_no_new_start(
    repeated: RepeatedTrial, source: Path
) -> None:
    objectives = ("loss", "size")
    repeated.attempt(training((0.3, 0.2), source, fails=True), objectives)

    def logs_size_last(trial: Trial) -> None:
        training((0.3, 0.2, 0.1), source)(trial)
        trial.log({"size": 7.0}, 0)

    assert repeated.attempt(logs_size_last, objectives).values == (0.1, 7.0)


def test_objective_that_only_the_first_attempt_yielded_counts(repeated: RepeatedTrial, source: Path) -> None:
    objectives = ("loss", "size")

    def first(trial: Trial) -> None:
        trial.log({"loss": 0.5, "size": 7.0}, 0)
        trial.save_checkpoint_folder(source, 0)
        raise OSError("the machine fails")

    def continues(trial: Trial) -> Any:
        trial.resume_folder()
        trial.log({"loss": 0.25}, 1)
        return trial.early_finish.reduced_values({"loss": 0.25})

    repeated.attempt(first, objectives)
    assert repeated.attempt(continues, objectives).values == (0.25, 7.0)


def test_constraints_and_attributes_before_a_checkpoint_count(repeated: RepeatedTrial, source: Path) -> None:
    def first(trial: Trial) -> None:
        trial.report(0.5, 0)
        trial.set_constraint("memory", 12.0)
        trial.set_constraint("size", 1.0)
        trial.set_user_attr("classes", ["a", "b"])
        trial.save_checkpoint_folder(source, 0)
        trial.set_constraint("late", 1.0)
        raise OSError("the machine fails")

    found: list[tuple[dict[str, float], dict[str, Any]]] = []

    def continues(trial: Trial) -> None:
        trial.set_constraint("size", -1.0)
        trial.resume_folder()
        found.append((trial.constraints, trial.user_attrs))

    repeated.attempt(first)
    assert repeated.attempt(continues).values == (0.5,)
    assert found == [({"memory": 12.0, "size": -1.0}, {"classes": ["a", "b"]})]
    (sent,) = [each for each in repeated.sent() if each.constraints.get("memory") and each.user_attrs]
    assert sent == AttrsReported({"memory": 12.0, "size": -1.0}, {"classes": ["a", "b"]})


def test_checkpoint_of_an_earlier_version_has_no_reports(repeated: RepeatedTrial, source: Path) -> None:
    repeated.attempt(training((0.1, 0.2), source, fails=True), objective="min")
    (facts,) = repeated.folder.glob("1/**/podium.json")
    facts.write_text(
        json.dumps({key: value for key, value in json.loads(facts.read_text()).items() if key != "progress"})
    )
    outcome = repeated.attempt(training((0.1, 0.2, 0.7), source), objective="min")
    assert outcome.values == (0.7,)
