"""`resources` with several devices: what is valid, and what is refused with which sentence."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.spec.sweep_spec import parse_spec, spec_from_json
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import builtin_document, document


@pytest.mark.parametrize(
    ("resources", "least", "most"),
    [({}, 1, 1), ({"devices": 1}, 1, 1), ({"devices": 4}, 4, 4), ({"devices": {"min": 2, "max": 4}}, 2, 4)],
)
def test_number_of_devices(resources: dict[str, Any], least: int, most: int) -> None:
    spec = spec_from_json(parse_spec(document(resources=resources)).to_json())
    assert (spec.resources.least, spec.resources.most, spec.resources.several) == (least, most, most > 1)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"devices": 0}, "must be 1 to 1024, got 0"),
        ({"devices": 2000}, "must be 1 to 1024, got 2000"),
        ({"devices": {"min": 4, "max": 2}}, "must not exceed max (2), got 4"),
        ({"node": "a b"}, "string should match pattern"),
        ({"processes": "one"}, "only valid with several devices"),
        ({"devices": 1, "pack": "any"}, "only valid with several devices"),
        ({"devices": 2, "processes": "one", "pack": "any"}, "one process sees the devices of one node only"),
    ],
)
def test_refused_resources(resources: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpecError, match=words.replace("(", r"\(").replace(")", r"\)")):
        parse_spec(document(resources=resources))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resources": {"devices": 2, "processes": "one"}}, "built-in models use one device in each process"),
        ({"resources": {"devices": 2}, "validation": {"folds": 3}}, "not valid with several devices"),
    ],
)
def test_refused_for_builtin_models(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpecError, match=words):
        parse_spec(builtin_document(**changes))


@pytest.mark.parametrize(
    ("resources", "fitting", "required"),
    [
        ({}, ["cpu-0", "gpu-0", "b:cpu-0", "b:gpu-1.1", "c:gpu-0"], "a device"),
        ({"device": "gpu"}, ["gpu-0", "b:gpu-1.1", "c:gpu-0"], "a gpu"),
        ({"node": "b"}, ["b:cpu-0", "b:gpu-1.1"], "a device of the node b"),
        ({"node": "b", "device": "gpu"}, ["b:gpu-1.1"], "a gpu of the node b"),
        ({"node": "head"}, ["cpu-0", "gpu-0"], "a device of this machine"),
        ({"node": "d"}, [], "a device of the node d"),
    ],
)
def test_devices_on_which_trials_may_run(resources: dict[str, Any], fitting: list[str], required: str) -> None:
    wanted = parse_spec(document(resources=resources)).resources
    devices = ["cpu-0", "gpu-0", "b:cpu-0", "b:gpu-1.1", "c:gpu-0"]
    assert [name for name in devices if wanted.fits("gpu" if "gpu" in name else "cpu", name)] == fitting
    assert wanted.required_device == required
