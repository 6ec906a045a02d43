"""Summaries of parameter values: frequent values first, ranges of numbers, unused parameters left out."""

from __future__ import annotations

from podium.db.queries.parameter_summaries import ParameterSummaries, ParameterSummary


def test_frequent_values_come_first_and_numbers_have_a_range() -> None:
    collected = ParameterSummaries()
    for lr in (0.5, 0.1, 0.2, 0.2, 0.3, 0.4):
        collected.add({"lr": lr})
    assert collected.result() == {"lr": ParameterSummary([0.2, 0.5, 0.1, 0.3], 5, 0.1, 0.5)}


def test_range_is_only_of_numbers() -> None:
    collected = ParameterSummaries()
    for mixed, flag in ((1, True), ("auto", False)):
        collected.add({"mixed": mixed, "flag": flag})
    assert collected.result() == {
        "mixed": ParameterSummary([1, "auto"], 2, None, None),
        "flag": ParameterSummary([True, False], 2, None, None),
    }


def test_true_is_not_1_and_parameters_are_by_name() -> None:
    collected = ParameterSummaries()
    for value in (1, True):
        collected.add({"z": value, "a": 0})
    assert list(collected.result().items()) == [
        ("a", ParameterSummary([0], 1, 0.0, 0.0)),
        ("z", ParameterSummary([1, True], 2, None, None)),
    ]


def test_parameter_that_a_trial_does_not_use_is_left_out() -> None:
    collected = ParameterSummaries()
    collected.add({"optimizer": "adam", "momentum": None})
    assert list(collected.result()) == ["optimizer"]
