"""User networks in ensembles: five kinds in both modes, and what is refused in the trial or later."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.building.version_building import VersionBuilder
from podium.ensemble.values.ensemble_spec import EnsembleOptions, Mode, Precision, Rule, Select, Split, Task
from podium.ensemble.worker.execution_plans import GroupPlans, Plan
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import SingleNetwork, load
from podium.ensemble.worker.user_networks import guard_embeddings
from podium.sweep.networks.ensemble_network_adapter import FlatInputAdapter, check_rows
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.errors import EnsembleError, UserCodeError
from podium.sweep.values.saved_network_manifest import Outputs
from tests.networks import combination
from tests.user_nets import nets
from tests.user_rig import NETS, UserRig

KINDS = sorted(nets.SHAPES)
ROWS = np.random.default_rng(1).integers(0, 10, (17, 16)).astype(np.float32)
WIDTHS = (4, 4, 6)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[UserRig]:
    found = UserRig(tmp_path)
    yield found
    found.close()


def direct(file: ModelFile, kind: str, width: int) -> np.ndarray:
    """The outputs of the network without Podium."""
    model = nets.build({"kind": kind, "width": width})
    weights = {name: tensor for name, tensor in load_file(file.path).items() if not name.startswith("podium.")}
    model.load_state_dict(weights)
    rows = torch.from_numpy(ROWS).reshape(len(ROWS), *nets.SHAPES[kind])
    with torch.inference_mode():
        said: torch.Tensor = model.eval()(rows.long() if kind == "embedding" else rows)
        return said.softmax(dim=1).numpy()


def loaded(files: list[ModelFile], *, in_graph: bool, precision: Precision = Precision.FLOAT32) -> Any:
    files = [replace(file, precision=precision.value) for file in files]
    network = load(files, in_graph=in_graph, combination=combination([1.0] * len(files)))
    if isinstance(network, InGraphNetwork):
        network.warm(16, budget_s=0.3)
    else:
        network.warm(16)
    return network


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in ("batch_norm", "lstm") else pytest.mark.slow) for kind in KINDS]
)
def test_three_networks_of_one_kind_predict_as_alone_in_both_modes(rig: UserRig, kind: str) -> None:
    bundle = rig.bundle(NETS)
    files = [rig.finished(bundle, {"kind": kind, "width": width}, n) for n, width in enumerate(WIDTHS)]
    expected = np.stack([direct(file, kind, width) for file, width in zip(files, WIDTHS, strict=True)])
    together = loaded(files, in_graph=True).predict(ROWS)
    assert not together.failed
    np.testing.assert_allclose(together.predictions, expected, atol=1e-5)
    np.testing.assert_allclose(together.combined, expected.mean(axis=0), atol=1e-5)
    for file, alone in zip(files, expected, strict=True):
        np.testing.assert_allclose(loaded([file], in_graph=False).predict(ROWS).predictions[0], alone, atol=1e-5)


def test_five_kinds_predict_together(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    files = [rig.finished(bundle, {"kind": kind, "width": 4}, number) for number, kind in enumerate(KINDS)]
    found = loaded(files, in_graph=True).predict(ROWS)
    expected = np.stack([direct(file, kind, 4) for file, kind in zip(files, KINDS, strict=True)])
    np.testing.assert_allclose(found.predictions, expected, atol=1e-5)


def test_networks_of_one_shape_are_batched(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    files = [rig.finished(bundle, {"kind": "batch_norm", "width": 4}, number) for number in range(3)]
    network = load(files, in_graph=True, combination=combination([1.0] * 3))
    assert isinstance(network, InGraphNetwork)
    (running,) = network.runners
    assert running.group.positions == (0, 1, 2)
    rows = torch.from_numpy(ROWS)
    with torch.inference_mode():
        stacked = GroupPlans(running.group).prepare(Plan.STACKED, rows)(rows)
        torch.testing.assert_close(stacked, running.plans.run_loop(rows), atol=1e-6, rtol=0)


def test_token_ids_out_of_range_fail_only_their_request(rig: UserRig) -> None:
    files = [rig.finished(rig.bundle(NETS), {"kind": "embedding", "width": 4}, number) for number in range(2)]
    network = loaded(files, in_graph=True)
    with pytest.raises(RuntimeError, match="all members failed"):
        network.predict(np.full((1, 16), 10, np.float32))
    assert not network.predict(ROWS).failed


@pytest.mark.parametrize("value", [2.5, -(2.0**63) * 2, 2.0**63])
def test_token_ids_that_int64_would_change_are_refused(rig: UserRig, value: float) -> None:
    files = [rig.finished(rig.bundle(NETS), {"kind": "embedding", "width": 4}, number) for number in range(2)]
    rows = ROWS.copy()
    rows[3, 7] = value
    for network in (loaded(files, in_graph=True), loaded(files[:1], in_graph=False)):
        with pytest.raises(Exception, match=r"expected int64 input, got .* in row 3, column 7"):
            network.predict(rows)


def test_float_network_answers_when_integer_network_cannot(rig: UserRig) -> None:
    kinds = ["embedding", "dropout"]
    files = [rig.finished(rig.bundle(NETS), {"kind": kind, "width": 4}, n) for n, kind in enumerate(kinds)]
    found = loaded(files, in_graph=True).predict(ROWS + np.float32(0.5))
    assert list(found.failed) == [0]
    assert "expected int64 input" in found.failed[0]
    assert np.isfinite(found.predictions[1]).all()


@pytest.mark.parametrize(
    ("dtype", "wrong", "right"),
    [(torch.uint8, [-1, 256, 0.5], [0, 255]), (torch.int8, [-129, 128], [-128, 127]), (torch.bool, [2, -1], [0, 1])],
)
def test_range_of_each_integer_type_is_enforced(dtype: torch.dtype, wrong: list[float], right: list[float]) -> None:
    network = FlatInputAdapter(torch.nn.Flatten(), (1,), dtype, Outputs.VALUES)
    for value in right:
        check_rows(network, torch.tensor([[value]], dtype=torch.float32))
    for value in wrong:
        with pytest.raises(ValueError, match=f"got {value} in row 0, column 0"):
            check_rows(network, torch.tensor([[value]], dtype=torch.float32))


def test_gpu_receives_no_token_ids_out_of_range() -> None:
    words = torch.nn.Sequential(torch.nn.Embedding(10, 4))
    guard_embeddings(words)
    assert words(torch.tensor([[9]])).shape == (1, 1, 4)
    for wrong in (-1, 10):
        with pytest.raises(IndexError, match="expected 0 to 9"):
            words(torch.tensor([[wrong]]))


def test_example_of_network_is_used_for_warm_up_and_probe(rig: UserRig) -> None:
    file = rig.finished(rig.bundle(NETS), {"kind": "embedding", "width": 4}, 0)
    known = nets.rows_and_targets("embedding")[0][:4].numpy()
    for in_graph in (False, True):
        network = loaded([file], in_graph=in_graph)
        np.testing.assert_array_equal(network.known_rows(6, 16), np.vstack([known, known[:2]]))


def test_build_parameters_may_differ_from_trial(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    module = rig.module(bundle, "nets")
    params = {"kind": "dropout", "width": 5}
    rig.trial(bundle, {"lr": 0.1}).save_model(module.build(params), params=params)
    assert rig.header(0)["params"] == params
    loaded([rig.file(0)], in_graph=False)


def test_bfloat16_is_close(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    for number, kind in enumerate(KINDS):
        file = rig.finished(bundle, {"kind": kind, "width": 4}, number)
        rough = loaded([file], in_graph=False, precision=Precision.BFLOAT16).predict(ROWS).predictions[0]
        np.testing.assert_allclose(rough, direct(file, kind, 4), atol=0.1)


# Two bundles in one ensemble.

SCALED = """
import torch
from torch import nn
from helper import FACTOR

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 2)

    def forward(self, rows):
        {lazily}
        return self.last(rows) * FACTOR

def build(params):
    return Scaled()

def objective(trial):
    trial.save_model(build(trial.params), example=torch.ones(3, 4), outputs="values")
    return 0.0
"""


def scaled(rig: UserRig, factor: float, number: int, lazily: str = "") -> ModelFile:
    bundle = rig.bundle(nets=SCALED.format(lazily=lazily), helper=f"FACTOR = {factor}")
    return rig.finished(bundle, {}, number)


def both(files: list[ModelFile]) -> Any:
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)
    how = combination([1.0] * len(files), Rule.MEAN, Task.REGRESSION)
    return load(files, in_graph=True, combination=how).predict(rows).predictions


def test_modules_of_same_name_from_two_bundles_are_separate(rig: UserRig) -> None:
    files = [scaled(rig, 1.0, 0), scaled(rig, 100.0, 1), scaled(rig, 1.0, 2)]
    assert len({rig.header(number)["bundle"] for number in range(3)}) == 2
    alone = []
    for file in files:
        rig.forget()
        alone.append(both([file])[0])
    rig.forget()
    before = list(sys.path)
    np.testing.assert_allclose(both(files), alone, rtol=1e-5)
    assert sys.path == before and "helper" not in sys.modules


def test_code_that_imports_lazily_needs_its_own_process(rig: UserRig) -> None:
    files = [scaled(rig, 1.0, 0, "from helper import FACTOR"), scaled(rig, 100.0, 1)]
    rig.forget()
    with pytest.raises(EnsembleError, match=r"No module named 'helper'; .* use mode between_graph"):
        both(files)
    rig.forget()
    both(files[:1])


# Refused in the trial.

FAULTS: dict[str, tuple[str, str]] = {
    "build that raises": ("raise KeyError('depth')", r"nets:build raised KeyError: 'depth' \(with kind="),
    "build of nothing": ("return None", r"nets:build returned a NoneType; expected a torch.nn.Module"),
    "other shapes": ("return nn.Linear(16, 4)", r"the saved weights do not fit.*size mismatch for weight"),
    "other layers": ("return nn.Sequential(nn.Linear(16, 3))", r"do not fit.*Missing key"),
    "the same weights but other answers": (
        "return nn.Sequential(OrderedDict(weight=Weight()))[0]",
        r"the same weights but different outputs",
    ),
}
FAULTY = """
from collections import OrderedDict
import torch
from torch import nn

class Weight(nn.Linear):
    def __init__(self):
        super().__init__(16, 3)
    def forward(self, rows):
        return super().forward(rows).flip(1)

def build(params):
    {body}
"""


@pytest.mark.parametrize(("body", "words"), FAULTS.values(), ids=FAULTS)
def test_build_that_does_not_return_network_fails_trial(rig: UserRig, body: str, words: str) -> None:
    bundle = rig.bundle(nets=FAULTY.format(body=body))
    rig.module(bundle, "nets")
    with pytest.raises(UserCodeError, match=words):
        rig.trial(bundle, {"kind": "x"}).save_model(torch.nn.Linear(16, 3))


def user_trial(rig: UserRig, text: str = "def build(params): pass", **program: Any) -> Trial:
    bundle = rig.bundle(nets=text)
    rig.module(bundle, "nets")
    return rig.trial(bundle, {}, **program)


LINEAR = "from torch import nn\ndef build(params): return nn.Linear(16, 3)"


class Odd(torch.nn.Linear):
    """GroupOutputs wrongly in a way of its own."""

    def __init__(self, how: str) -> None:
        super().__init__(16, 3)
        self.how = how

    def forward(self, rows: torch.Tensor) -> Any:
        said = super().forward(rows)
        if self.how == "random":
            return said + torch.rand_like(said)
        if self.how == "tuple":
            return said, rows
        return said.T if self.how == "turned" else said - said.mean(dim=0)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("random", "is not deterministic"),
        ("tuple", "returned a tuple"),
        ("turned", "the first dimension must be the rows"),
    ],
)
def test_network_with_invalid_outputs_is_refused(rig: UserRig, how: str, words: str) -> None:
    with pytest.raises(UserCodeError, match=words):
        user_trial(rig, LINEAR).save_model(Odd(how), example=torch.ones(4, 16))


def test_dependence_on_other_rows_of_batch_is_detected(rig: UserRig) -> None:
    text = "from torch import nn\ndef build(params): return nn.BatchNorm2d(3, track_running_stats=False)"
    batch = torch.randn(4, 3, 2, 2)
    with pytest.raises(UserCodeError, match="depends on the other rows of the batch"):
        user_trial(rig, text).save_model(
            torch.nn.BatchNorm2d(3, track_running_stats=False), example=batch, outputs="values"
        )


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "an example that it does not take": ({"example": torch.ones(4, 9)}, "the network in evaluation mode raised"),
    "several inputs": ({"example": (torch.ones(4, 16),)}, "expected one tensor, a batch of inputs"),
    "no row": ({"example": torch.ones(0, 16)}, "expected a batch, rows first"),
    "unknown outputs": ({"outputs": "classes"}, "expected one of logits, probabilities, values"),
    "too few names": ({"classes": ["a", "b"]}, "classes=… has 2 names, but the network has 3 outputs"),
    "parameters that cannot be written down": ({"params": {"act": torch.nn.ReLU()}}, "numbers, strings, lists"),
    "our own name": ({"metadata": {"user_network": "x"}}, "'user_network' is reserved"),
}


@pytest.mark.parametrize(("call", "words"), CALLS.values(), ids=CALLS)
def test_invalid_arguments_of_save_model_are_refused(rig: UserRig, call: dict[str, Any], words: str) -> None:
    with pytest.raises(UserCodeError, match=words):
        user_trial(rig, LINEAR).save_model(torch.nn.Linear(16, 3), **call)


def test_build_named_in_sweep_file_must_exist(rig: UserRig) -> None:
    with pytest.raises(UserCodeError, match=r"program\.build: nets has no function 'make'"):
        user_trial(rig, LINEAR, build="nets:make").save_model(torch.nn.Linear(16, 3))


def test_single_output_requires_outputs_argument(rig: UserRig) -> None:
    text = "from torch import nn\ndef build(params): return nn.Linear(16, 1)"
    model = torch.nn.Linear(16, 1)
    with pytest.raises(UserCodeError, match="outputs='values', 'logits' or 'probabilities'"):
        user_trial(rig, text).save_model(model)
    user_trial(rig, text).save_model(model, outputs="logits", classes=["ham", "spam"])
    found = loaded([rig.file(0)], in_graph=False).predict(ROWS).predictions[0]
    spam = torch.sigmoid(model(torch.from_numpy(ROWS))).detach().numpy()
    np.testing.assert_allclose(found, np.hstack([1 - spam, spam]), atol=1e-6)
    user_trial(rig, text).save_model(model, outputs="values")
    found = loaded([rig.file(0)], in_graph=False).predict(ROWS).predictions[0]
    np.testing.assert_allclose(found, model(torch.from_numpy(ROWS)).detach().numpy(), rtol=1e-5)


# Kept, but cannot join an ensemble.

UNFIT: dict[str, tuple[str, torch.nn.Module, str]] = {
    "no build": ("x = 1", torch.nn.Linear(16, 3), r"nets has no function build\(params\)"),
    "no example": (
        "from torch import nn\ndef build(params): return nn.Conv2d(1, 2, 3)",
        torch.nn.Conv2d(1, 2, 3),
        r"pass it: trial.save_model\(model, example=batch\)",
    ),
}


@pytest.mark.parametrize(("text", "model", "words"), UNFIT.values(), ids=UNFIT)
def test_trial_continues_and_log_and_ensemble_give_reason(
    rig: UserRig, capsys: pytest.CaptureFixture[str], text: str, model: torch.nn.Module, words: str
) -> None:
    trial = user_trial(rig, text)
    trial.save_model(model)
    trial.save_model(model)
    assert capsys.readouterr().out.count("cannot join an ensemble") == 1
    with pytest.raises(EnsembleError, match=rf"trial 0 of sweep 1: its network cannot join an ensemble: .*{words}"):
        built(rig, [0], k=1)
    with pytest.raises(EnsembleError, match=words):
        loaded([rig.file(0)], in_graph=False)
    assert set(load_file(rig.file(0).path)) == set(model.state_dict())


def test_saving_model_does_not_affect_training(rig: UserRig) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(16, 3), torch.nn.Dropout(0.5))
    model[1].eval()
    text = "from torch import nn\ndef build(params): return nn.Sequential(nn.Linear(16, 3), nn.Dropout(0.5))"
    trial = user_trial(rig, text)
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    trial.save_model(model)
    assert torch.equal(torch.rand(4), expected)
    assert [layer.training for layer in model.modules()] == [True, True, False]


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
def test_compiled_network_keeps_parameter_names(rig: UserRig) -> None:
    user_trial(rig, LINEAR).save_model(torch.compile(torch.nn.Linear(16, 3)))  # type: ignore[arg-type]
    assert {"weight", "bias"} < set(load_file(rig.file(0).path))


# Detected when building or loading.


def test_changed_code_is_refused_when_building_and_loading(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    file = rig.finished(bundle, {"kind": "dropout", "width": 4}, 0)
    code = rig.data.bundle(bundle) / "nets.py"
    code.write_text(code.read_text() + "\nx = 1\n")
    with pytest.raises(
        EnsembleError, match=r"trial 0 of sweep 1: the code of its network, .*has changed since the trial"
    ):
        built(rig, [0], k=1)
    with pytest.raises(EnsembleError, match=r"model\.safetensors: the code .*has changed since the trial"):
        loaded([file], in_graph=False)
    code.unlink()
    code.parent.rename(code.parent.with_name("away"))
    with pytest.raises(EnsembleError, match="is missing from the data directory"):
        loaded([file], in_graph=False)


def test_weights_of_other_build_are_refused(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    files = [rig.finished(bundle, {"kind": kind, "width": 4}, n) for n, kind in enumerate(("dropout", "batch_norm"))]
    from safetensors import safe_open
    from safetensors.torch import save_file

    from podium.sweep.runtime.safe_file_reads import sha256_of

    with safe_open(files[1].path, framework="pt") as other:
        header = other.metadata()
    save_file(load_file(files[0].path), files[0].path, header)
    with pytest.raises(EnsembleError, match="the saved weights do not fit"):
        loaded([replace(files[0], sha256=sha256_of(Path(files[0].path)))], in_graph=False)


def test_network_that_reads_external_file_is_detected(rig: UserRig, tmp_path: Path) -> None:
    beside = tmp_path / "scale.txt"
    beside.write_text("1.0")
    factor = f"from pathlib import Path; FACTOR = float(Path({str(beside)!r}).read_text())"
    text = SCALED.format(lazily="").replace("from helper import FACTOR", factor)
    file = rig.finished(rig.bundle(nets=text), {}, 0)
    rig.forget()
    beside.write_text("2.0")
    with pytest.raises(EnsembleError, match="its outputs differ from those in its trial"):
        both([file])


def test_no_in_graph_combination_is_returned_when_member_predicts_nan(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    files = [rig.finished(bundle, {"kind": "dropout", "width": 4}, 0)]
    module = rig.module(bundle, "nets")
    lost = module.build({"kind": "dropout", "width": 4})
    torch.nn.init.constant_(lost[0].weight, torch.nan)
    trial = rig.trial(bundle, {"kind": "dropout", "width": 4}, number=1)
    trial.save_model(lost, outputs="logits")
    found = loaded([*files, rig.file(1)], in_graph=True).predict(ROWS)
    assert found.combined is None and np.isfinite(found.predictions[0]).all() and np.isnan(found.predictions[1]).all()


# Predictions.


def built(rig: UserRig, numbers: list[int], **options: Any) -> Any:
    trials = [rig.files(number, value=0.5 + number / 10) for number in numbers]
    return VersionBuilder(rig.data).build(EnsembleOptions(**options), trials)


def three(rig: UserRig) -> None:
    bundle = rig.bundle(NETS)
    for number, kind in enumerate(("dropout", "batch_norm", "lstm")):
        rig.finished(bundle, {"kind": kind, "width": 4}, number)


def test_trials_with_own_data_are_selected_and_fitted(rig: UserRig) -> None:
    three(rig)
    for options in ({"select": Select.GREEDY}, {"select": Select.DIVERSE}, {"combine": Rule.STACKING}):
        version = built(rig, [0, 1, 2], k=2, mode=Mode.IN_GRAPH, **options)
        assert 1 <= len(version.trial_ids) <= 2 and version.classes == ("0", "1", "2") and version.features == 16
    assert built(rig, [0, 1, 2], k=3, calibrate=True).combination.temperature != 1.0
    weights = built(rig, [0, 1, 2], k=3, combine=Rule.WEIGHTED).combination.weights
    assert sum(weights) == pytest.approx(1)


def test_predictions_with_other_targets_are_refused(rig: UserRig) -> None:
    three(rig)
    said = torch.full((20, 3), 1 / 3)
    trial = rig.trial(rig.bundle(NETS), {"kind": "lstm", "width": 4}, number=2)
    trial.save_predictions(
        {"validation": said, "calibration": said},
        targets={"validation": torch.zeros(20).long(), "calibration": torch.zeros(20).long()},
    )
    with pytest.raises(EnsembleError, match="saved its predictions with other targets than trial"):
        built(rig, [0, 1, 2], k=2, select=Select.GREEDY)
    built(rig, [0, 1, 2], k=2)


def test_missing_predictions_are_reported(rig: UserRig) -> None:
    three(rig)
    trial = rig.trial(rig.bundle(NETS), {"kind": "lstm", "width": 4}, number=2)
    trial.save_predictions({"validation": np.full((4, 3), 1 / 3)}, targets={"validation": [0, 1, 2, 0]})
    with pytest.raises(EnsembleError, match="trial 2 of sweep 1 saved no predictions on calibration; pass them"):
        built(rig, [2], k=1, calibrate=True)
    trial.directory.predictions.unlink()
    with pytest.raises(EnsembleError, match=r"trial 2 of sweep 1 saved no predictions; call trial\.save_predictions"):
        built(rig, [2], k=1, select=Select.GREEDY)


def test_shared_data_provides_targets(rig: UserRig) -> None:
    trial = user_trial(rig, "", data={"name": "digits"})
    with pytest.raises(UserCodeError, match="omit targets"):
        trial.save_predictions({"validation": np.ones((1, 10))}, targets={"validation": [0]})
    with pytest.raises(UserCodeError, match="1 predictions for 180 rows of validation"):
        trial.save_predictions({"validation": np.full((1, 10), 0.1)})
    with pytest.raises(UserCodeError, match="validation has 4 outputs per row, but the data has 10 classes"):
        trial.save_predictions({"validation": np.full((180, 4), 0.25)})
    trial.save_predictions({"validation": np.zeros((180, 10))}, outputs="logits")
    found = saved_trial_outputs.read_predictions(rig.data, rig_files(rig), Split.VALIDATION)
    np.testing.assert_allclose(found, 0.1)


DIGITS = """
import torch
from torch import nn

def build(params):
    return nn.Sequential(nn.Linear(64, 10))

def objective(trial):
    rows = trial.data.split("validation")[0]
    rows = torch.from_numpy(rows).float() / params_of(trial)
    model = build(trial.params)
    trial.save_model(model, example=rows[:4])
    trial.save_predictions({"validation": model(rows).softmax(dim=1)})
    return 0.5

def params_of(trial):
    return trial.params["by"]
"""


def test_network_must_reproduce_saved_predictions_on_shared_rows(rig: UserRig) -> None:
    bundle = rig.bundle(nets=DIGITS)
    module = rig.module(bundle, "nets")
    module.objective(rig.trial(bundle, {"by": 1.0}, data={"name": "digits"}))
    assert rig.header(0)["classes"] == [str(digit) for digit in range(10)]
    with pytest.raises(UserCodeError, match="preprocessing such as scaling must be part of the network"):
        module.objective(rig.trial(bundle, {"by": 16.0}, data={"name": "digits"}))
    built(rig, [0], k=1, select=Select.GREEDY)


def rig_files(rig: UserRig) -> Any:
    model = Path(rig.file(0).path) if rig.attempt(0).model.exists() else None
    assert model is None
    from podium.ensemble.values.member_candidate import TrialFiles
    from podium.sweep.values.states import TrialState

    return TrialFiles(1, 0, 1, TrialState.FINISHED, 0.5, "maximize", None, None, rig.key(0))


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "nothing": ({}, {}, "give at least"),
    "the test split": ({"test": [[1.0]]}, {}, "the test split is reserved"),
    "no targets": ({"validation": [[1.0]]}, {}, "pass targets="),
    "targets of another split": ({"validation": [[1.0]]}, {"targets": {"calibration": [0]}}, "for the same splits"),
    "no numbers": ({"validation": [["a"]]}, {"targets": {"validation": [0]}}, "expected numbers"),
    "too many dimensions": ({"validation": np.ones((2, 2, 2))}, {"targets": {"validation": [0, 1]}}, "(2, 2, 2)"),
    "NaN": ({"validation": [[np.nan, 0.5]]}, {"targets": {"validation": [0]}}, "contain NaN or infinity"),
    "logits": ({"validation": [[3.0, -1.0]]}, {"targets": {"validation": [0]}}, "outputs='logits'"),
    "other rows": ({"validation": [[0.5, 0.5]]}, {"targets": {"validation": [0, 1]}}, "1 predictions for 2 rows"),
    "a class too many": ({"validation": [[0.5, 0.5]]}, {"targets": {"validation": [2]}}, "in [2, 2]; with 2 classes"),
    "other values": (
        {"validation": [[0.5, 0.5]]},
        {"targets": {"validation": [1.5]}},
        "its targets have shape (1, 1)",
    ),
    "unknown outputs": (
        {"validation": [[0.5, 0.5]]},
        {"targets": {"validation": [1]}, "outputs": "odds"},
        "one of logits, probabilities, values",
    ),
    "widths": (
        {"validation": [[0.5, 0.5]], "calibration": [[0.2, 0.2, 0.6]]},
        {"targets": {"validation": [1], "calibration": [1]}},
        "all splits must have the same number of outputs",
    ),
}


@pytest.mark.parametrize(("said", "how", "words"), WRONG.values(), ids=WRONG)
def test_invalid_predictions_are_refused(rig: UserRig, said: dict[str, Any], how: dict[str, Any], words: str) -> None:
    with pytest.raises(UserCodeError) as caught:
        user_trial(rig, "").save_predictions(said, **how)
    assert words in str(caught.value)


def test_regression_targets_may_be_integers(rig: UserRig) -> None:
    trial = user_trial(rig, "")
    trial.save_predictions({"validation": [1.5, 2.5]}, targets={"validation": [1, 3]}, outputs="values")
    found = json.dumps(load_file(trial.directory.predictions)["targets.validation"].tolist())
    assert found == "[[1.0], [3.0]]"


def test_single_member_is_loaded_as_single_network(rig: UserRig) -> None:
    file = rig.finished(rig.bundle(NETS), {"kind": "dropout", "width": 4}, 0)
    assert isinstance(loaded([file], in_graph=False), SingleNetwork)
