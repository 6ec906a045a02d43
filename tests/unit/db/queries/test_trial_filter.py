"""The filter of trials: what each term matches, and the message and position of each error."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from podium.db.queries.filter_parser import parse_terms
from podium.db.queries.trial_filter import filter_condition
from podium.db.schema.tables import trials
from podium.db.stores import sweeps, trial_command_writer
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.errors import FilterError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import FallbackReason
from tests.service_rig import AT, ServiceRig

SPACE = {
    "lr": {"min": 1e-4, "max": 0.1, "log": True},
    "optimizer": {"values": ["adam", "sgd", 'my "own"', None]},
    "flag": {"values": [True, False]},
    "layers": {"min": 1, "max": 4},
}


def numbers(service: ServiceRig, sweep_id: int, text: str) -> list[int]:
    with service.database.read() as connection:
        where = filter_condition(connection, text, sweeps.get(connection, sweep_id))
        return list(connection.execute(select(trials.c.number).where(where).order_by(trials.c.number)).scalars())


@pytest.fixture(params=["columns", "rows"])
def sweep_id(service: ServiceRig, request: pytest.FixtureRequest) -> int:
    """Five trials, and another sweep that no filter may match. Only the first sixteen parameters have columns."""
    unused = {f"unused{number}": {"min": 0, "max": 1} for number in range(16)}
    space = SPACE if request.param == "columns" else {**unused, **SPACE}
    other, sweep_id = service.sweep(), service.sweep(parameters=space, program={"function": "train:objective"})
    service.trial(other, 0, 0.5, params={"lr": 0.001, "optimizer": "adam"})
    rows: list[tuple[Params, float | None, Cause | None]] = [
        ({"lr": 0.001, "optimizer": "adam", "flag": True, "layers": 1}, 0.5, None),
        ({"lr": 0.01, "optimizer": "sgd", "flag": False, "layers": 2}, 0.9, None),
        ({"lr": 0.1, "optimizer": 'my "own"', "flag": True, "layers": 3}, 0.7, None),
        ({"lr": 0.02, "optimizer": None, "flag": False}, None, Cause.NON_FINITE),
        ({"lr": 0.03, "optimizer": "adamw", "flag": False, "extra": "ünï code"}, None, None),
    ]
    for number, (params, value, cause) in enumerate(rows):
        service.trial(sweep_id, number, value, params=params, cause=cause, model=False)
    return sweep_id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("  ", [0, 1, 2, 3, 4]),
        ("state:failed", [3]),
        ("state:Running,failed", [3, 4]),
        ("state!=finished", [3, 4]),
        ("-state:finished", [3, 4]),
        ("lr<0.01", [0]),
        ("lr<=0.01", [0, 1]),
        ("lr > 0.03", [2]),
        ("lr:0.01..0.03", [1, 3, 4]),
        ("lr:..1e-2", [0, 1]),
        ("lr:0.03..", [2, 4]),
        ("lr:0.01,0.1", [1, 2]),
        ("lr!=0.01", [0, 2, 3, 4]),
        ("-lr<0.02", [2, 3, 4]),
        ("params.lr=0.01", [1]),
        ("optimizer:adam", [0]),
        ("optimizer:adam*", [0, 4]),
        ('optimizer:"adam*"', []),
        ('optimizer:"my \\"own\\"",sgd', [1, 2]),
        ("optimizer:null", [3]),
        ("optimizer!=adam", [1, 2, 3, 4]),
        ("optimizer!=null", [0, 1, 2, 4]),
        ("optimizer>1", []),
        ("-optimizer:adam", [1, 2, 3, 4]),
        ("flag:1", []),
        ("flag!=true", [1, 3, 4]),
        ("flag>0", [0, 2]),
        ("layers:true", []),
        ("-layers:1", [1, 2, 3, 4]),
        ('layers:"1"', []),
        ("layers:1,3..", [0, 2]),
        ("flag:true", [0, 2]),
        ("layers:1", [0]),
        ("layers>=2", [1, 2]),
        ("-layers>=2", [0, 3, 4]),
        ("layers!=2", [0, 2]),
        ("extra:*code", [4]),
        ("value>0.6", [1, 2]),
        ("val_accuracy>0.6", [1, 2]),
        ("values.val_accuracy:0.5", [0]),
        ("-value>0.6", [0, 3, 4]),
        ("device:cpu-*", [0, 1, 2, 3, 4]),
        ("device:cuda-0", []),
        ("cause:nan", [3]),
        ("cause:non_finite,timeout", [3]),
        ("sampler:random", [0, 1, 2, 3, 4]),
        ("duration_s:1.9..2.1", [0, 1, 2, 3]),
        ("attempt:1", [0, 1, 2, 3, 4]),
        ("attempt>1", []),
        ("number:1..2", [1, 2]),
        ("#3", [3]),
        ("-#3", [0, 1, 2, 4]),
        ("top:2", [1, 2]),
        ("top:2 lr<0.05", [1]),
        ("feasible:yes state:finished", [0, 1, 2]),
        ("adam", [0, 4]),
        ("-adam", [1, 2, 3]),
        ('"ünï c"', [4]),
        ("own", [2]),
        ("%", []),
        ("lr<0.05 lr>0.005 state:finished", [1]),
        (f"lr:{','.join(['0.01'] * 390)},0.1", [1, 2]),  # SQLite accepts at most a thousand alternatives
        (f"device:{','.join(['a'] * 980)},cpu-0", [0, 1, 2, 3, 4]),
        (f"optimizer:{','.join(['a'] * 900)},sgd,0.1..0.2,ad*", [0, 1, 4]),
        (f"optimizer!={','.join(['a'] * 900)},sgd", [0, 2, 3, 4]),
        ("device!=cpu-*,a", []),
    ],
)
def test_filter_matches_trials(service: ServiceRig, sweep_id: int, text: str, expected: list[int]) -> None:
    assert numbers(service, sweep_id, text) == expected


def test_tags_and_notes_are_matched(service: ServiceRig, sweep_id: int) -> None:
    with service.database.write() as connection:
        trial_command_writer.annotate(connection, 2, AT, tags=["keep", "paper"])
        trial_command_writer.annotate(connection, 3, AT, note="Too slow: 100 % busy", tags=["bad"])
    for text, expected in {
        "tag:keep": [0],
        "tag:pap*,bad": [0, 1],
        "tag!=bad": [0, 2, 3, 4],
        "-tag:*": [2, 3, 4],
        "note:slow": [1],
        "note:*": [1],
        "-note:*": [0, 2, 3, 4],
        "slow": [1],
        "100\\ %": [],
        "paper": [0],
    }.items():
        assert numbers(service, sweep_id, text) == expected, text


@pytest.mark.parametrize(
    ("text", "position", "length", "words"),
    [
        ("top:1.5", 0, 3, "write top:N"),
        (f"device:{'*a,' * 50}*", 157, 1, "at most 50 ranges"),
        (f"note:{'a,' * 50}b", 105, 1, "at most 50"),
        ("state:runing", 6, 6, "did you mean running"),
        ("lr<0.1 stat:failed", 7, 4, "unknown name 'stat' (did you mean state?); known: "),
        ("lr<abc", 3, 3, "takes a number"),
        ("lr<1,2", 5, 1, "takes one number; write lr:1,2,3"),
        ("value:abc", 6, 3, "is not a number"),
        ('optimizer:"adam', 10, 5, "unclosed quotation mark"),
        ('lr<0.1 "adam', 7, 5, "unclosed quotation mark"),
        ("lr<", 2, 1, "missing value after lr<"),
        ("state:failed,", 12, 1, "missing"),
        ("state<failed", 0, 5, "state:waiting"),
        ("device>cpu", 0, 6, "write device:a,b"),
        ("<3", 0, 2, "name of a column"),
        ("top:0", 0, 3, "top:50"),
        ("top:1,2", 0, 3, "top:50"),
        ("cause:nana", 6, 4, "did you mean"),
        ("feasible:maybe", 0, 8, "feasible:yes"),
        ("values.loss>1", 0, 11, "unknown name"),
        ("x " * 51, 100, 2, "at most 50"),
    ],
)
def test_invalid_filter_names_the_position(
    service: ServiceRig, sweep_id: int, text: str, position: int, length: int, words: str
) -> None:
    with pytest.raises(FilterError, match=f"at character {position + 1}: ") as caught:
        numbers(service, sweep_id, text)
    assert words in str(caught.value)
    assert (caught.value.position, caught.value.length) == (position, length)


def test_what_chose_the_parameters_is_found(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5)
    service.trial(sweep_id, 1, 0.5, planned={"fallback_reason": FallbackReason.SLOW})
    failed = {"fallback_reason": FallbackReason.FAILED, "fallback_error": "ValueError: no"}
    service.trial(sweep_id, 2, 0.5, planned=failed)
    service.trial(sweep_id, 3, 0.5, planned={"sampler": "gp", "proposed_for": 1})
    for text, expected in {
        "sampler:random": [0, 1, 2],
        "sampler:gp": [3],
        "fallback_reason:slow": [1],
        "fallback_reason:slow,failed": [1, 2],
        "fallback_reason!=slow": [2],
        "-fallback_reason:slow": [0, 2, 3],
        "proposed_for:1": [3],
        "proposed_for>=0": [3],
    }.items():
        assert numbers(service, sweep_id, text) == expected, text
    with pytest.raises(FilterError, match="unknown fallback_reason 'slo' \\(did you mean slow\\?\\)"):
        numbers(service, sweep_id, "fallback_reason:slo")


def test_second_objective_and_constraints_are_matched(service: ServiceRig) -> None:
    metrics = [{"name": "loss", "goal": "minimize"}, {"name": "size", "goal": "minimize"}]
    sweep_id = service.sweep(metric=None, metrics=metrics, program={"function": "train:objective"})
    service.trial(sweep_id, 0, (0.5, 10.0), model=False, constraints={"latency": 1.0})
    service.trial(sweep_id, 1, (0.4, 20.0), model=False, constraints={"latency": -1.0})
    assert numbers(service, sweep_id, "size<15") == [0]
    assert numbers(service, sweep_id, "values.size>15 loss<0.5") == [1]
    assert numbers(service, sweep_id, "constraints.latency>0") == [0]
    assert numbers(service, sweep_id, "feasible:no") == [0]
    assert numbers(service, sweep_id, "top:5") == [1]


def test_figures_of_metrics_are_matched(service: ServiceRig) -> None:
    sweep_id = service.sweep(parameters=SPACE, program={"function": "train:objective"})
    names = ("val_loss", "val/acc", 'a "b" c.d', "lr")
    for number in range(3):
        trial_id = service.trial(sweep_id, number, 0.5, params={"lr": 0.01 * number}, model=False)
        for name in names[: 4 if number < 2 else 1]:
            service.points(trial_id, name, 0.3, 0.1 + number, 0.2 + number, *([math.nan] if number == 1 else []))
    for text, expected in {
        "val_loss<0.5": [0],
        "last(val_loss)>=1.2": [1, 2],
        "min(val_loss)<0.2": [0],
        "max(val_loss):2..3": [2],
        "-max(val_loss)>2": [0, 1],
        "val/acc<0.5": [0],
        "min(val/acc)=0.1": [0],
        'min("val/acc") = 0.1': [0],
        'max("a \\"b\\" c.d")>1': [1],
        '"a \\"b\\" c.d">1': [1],
        "metrics.val_loss>2": [2],
        "lr>=0.02": [2],  # the parameter
        "last(lr)>1": [1],
        "metrics.lr>1": [1],
        "min_step(val_loss):0": [1, 2],
        "non_finite(val_loss)>0": [1],
        "non_finite(val_loss)=0": [0, 2],
        "running_s:1.9..2.1 queued_s:0.9..1.1": [0, 1, 2],
    }.items():
        assert numbers(service, sweep_id, text) == expected, text
    with pytest.raises(
        FilterError, match="no trial has logged a metric 'val_los' \\(did you mean val_loss\\?\\)"
    ) as caught:
        numbers(service, sweep_id, "lr<1 min(val_los)<3")
    assert (caught.value.position, caught.value.length) == (5, 12)
    with pytest.raises(FilterError, match="val/acc"):
        numbers(service, sweep_id, "unknown<3")


@given(st.text(max_size=60))
def test_any_string_is_parsed_or_has_an_error_position_inside_it(text: str) -> None:
    try:
        found = parse_terms(text)
    except FilterError as error:
        assert 0 <= error.position < len(text)
        assert error.position + error.length <= len(text)
    else:
        assert all(0 <= term.position < len(text) for term in found)


@given(st.text(alphabet='ab"\\ :<', min_size=1), st.booleans())
def test_quoted_string_is_parsed_unchanged(text: str, negated: bool) -> None:
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    (term,) = parse_terms(f"{'-' if negated else ''}{quoted}:{quoted}")
    assert (term.name, term.negated, [value.text for value in term.values]) == (text, negated, [text])
