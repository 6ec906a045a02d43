"""The reports before a checkpoint count in the attempt that continues from it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from podium.sweep.trial_process.attempt_runner import outcome_of
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.attempt_outcomes import ReportedOutcome
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


def test_checkpoint_of_the_next_report_has_its_values(repeated: RepeatedTrial, source: Path) -> None:
    def saves_first(trial: Trial) -> None:
        trial.log({"loss": 0.5, "size": 7.0}, 0)
        trial.save_checkpoint_folder(source, 1, (1, {"loss": 0.25, "size": 3.0, "time": 1.0}))
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
        "continued after step 1, reported nothing, and returned 0, while 0.25 was reported before: return nothing, or "
        "compute the value after the training loop"
    )
    assert f"podium: {outcome.remark}\n" in capsys.readouterr().err


def test_value_like_the_reports_and_value_of_further_training_have_no_remark(
    repeated: RepeatedTrial, source: Path
) -> None:
    repeated.attempt(training((0.5, 0.25), source, fails=True))
    assert repeated.attempt(training((0.5, 0.25), source, returned=0.25)).remark == ""
    assert repeated.attempt(training((0.5, 0.25, 0.2), source, returned=0.1)).remark == ""


def test_checkpoint_of_an_earlier_version_has_no_reports(repeated: RepeatedTrial, source: Path) -> None:
    repeated.attempt(training((0.1, 0.2), source, fails=True), objective="min")
    (facts,) = repeated.folder.glob("1/**/podium.json")
    facts.write_text(
        json.dumps({key: value for key, value in json.loads(facts.read_text()).items() if key != "reported"})
    )
    outcome = repeated.attempt(training((0.1, 0.2, 0.7), source), objective="min")
    assert outcome.values == (0.7,)
