"""All networks as one module give the loop's numbers, and files that are not ours or not whole are refused by name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ensemble import combine
from ensemble.in_graph import InGraphEnsemble
from ensemble.networks import ModelFile, SingleNetwork, WholeEnsemble, load
from sweep import checkpoints, models
from sweep.errors import EnsembleError
from sweep.files import sha256_of

CPU = torch.device("cpu")
IMAGE = (1, 8, 8)
ROWS = np.random.default_rng(0).uniform(0, 16, (17, 64)).astype(np.float32)
MLP = {"hidden": 12, "layers": 2, "dropout": 0.3, "activation": "gelu"}
CNN = {"channels": 3, "blocks": 2, "hidden": 10, "dropout": 0.2}


def architecture(model: str = "mlp", settings: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    known = {"model": model, "settings": settings or {"mlp": MLP, "cnn": CNN}[model], "image": IMAGE, "classes": 4}
    return {**known, "mean": 4.9, "deviation": 6.0, **changes}


def network(seed: int, model: str = "mlp", **changes: Any) -> nn.Module:
    """A network with weights of its own, its batch norms fed, so that they hold something."""
    torch.manual_seed(seed)
    built = models.build(architecture(model, **changes))
    built.train()(torch.from_numpy(ROWS * (1 + seed)))
    return built.eval()


def saved(folder: Path, seed: int, model: str = "mlp", weight: float = 1.0) -> ModelFile:
    """A network as the fit loop leaves it."""
    path = folder / f"{model}-{seed}.safetensors"
    checkpoints.save_weights(network(seed, model), path, {"architecture": json.dumps(architecture(model))})
    return ModelFile(str(path), sha256_of(path), weight, 0)


KINDS = [("mlp", "mlp", "mlp"), ("cnn", "cnn", "cnn"), ("mlp", "cnn", "mlp")]


@pytest.mark.parametrize("kinds", KINDS, ids=", ".join)
def test_in_graph_is_the_loop_over_its_members_and_their_mean(kinds: tuple[str, ...]) -> None:
    members = [network(seed, kind) for seed, kind in enumerate(kinds)]
    weights = [0.5, 0.3, 0.4]
    predictions, combined = WholeEnsemble(InGraphEnsemble([(m, CPU) for m in members], weights)).predict(ROWS)
    with torch.inference_mode():
        loop = np.stack([torch.softmax(m(torch.from_numpy(ROWS)), dim=1).numpy() for m in members])
    assert predictions.shape == (3, 17, 4) and combined.shape == (17, 4)
    np.testing.assert_allclose(predictions, loop, atol=1e-6)
    np.testing.assert_allclose(combined, combine.mean(loop, weights), atol=1e-6)
    np.testing.assert_allclose(combined.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("kinds", KINDS, ids=", ".join)
def test_both_modes_give_the_same_from_the_same_files(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    files = [saved(tmp_path, seed, kind, 1 + seed) for seed, kind in enumerate(kinds)]
    together, combined = load(files, in_graph=True).predict(ROWS)
    alone = np.concatenate([load([file], in_graph=False).predict(ROWS)[0] for file in files])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert combined is not None
    np.testing.assert_allclose(combined, combine.mean(alone, [file.weight for file in files]), atol=1e-6)


def test_a_saved_network_says_what_it_said_before(tmp_path: Path) -> None:
    before, _ = SingleNetwork(network(3, "cnn"), CPU).predict(ROWS)
    after, none = load([saved(tmp_path, 3, "cnn")], in_graph=False).predict(ROWS)
    np.testing.assert_array_equal(after, before)
    assert after.shape == (1, 17, 4) and none is None


def test_a_rows_answer_does_not_depend_on_the_rows_beside_it(tmp_path: Path) -> None:
    """Batch norm and dropout are at rest."""
    loaded = load([saved(tmp_path, 1, "cnn"), saved(tmp_path, 2, "mlp")], in_graph=True)
    whole, _ = loaded.predict(ROWS)
    single = np.concatenate([loaded.predict(ROWS[n : n + 1])[0] for n in range(len(ROWS))], axis=1)
    np.testing.assert_allclose(single, whole, atol=1e-6)


def test_rows_that_may_not_be_written_to_are_read(tmp_path: Path) -> None:
    rows = np.frombuffer(ROWS.tobytes(), np.float32).reshape(ROWS.shape)
    assert not rows.flags.writeable
    assert load([saved(tmp_path, 1)], in_graph=False).predict(rows)[0].shape == (1, 17, 4)


# Files that are not what they should be.


def _flip(path: Path, at: int = -5) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def _foreign(**metadata: str) -> Callable[[Path], None]:
    return lambda path: save_file({"weight": torch.zeros(3)}, path, metadata=metadata or None)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _other_shape(path: Path) -> None:
    wide = json.dumps(architecture(settings={**MLP, "hidden": 13}))
    checkpoints.save_weights(network(0), path, {"architecture": wide})


HASH_TELLS: dict[str, Callable[[Path], Any]] = {"missing": Path.unlink, "a folder": _folder, "a flipped byte": _flip}
WRONG: dict[str, Callable[[Path], Any]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "empty": lambda path: path.write_bytes(b""),
    "a pickle": lambda path: torch.save(network(0).state_dict(), path),
    "another program's": _foreign(format="pt"),
    "an architecture that is not JSON": _foreign(architecture="{"),
    "an architecture with nothing in it": _foreign(architecture="{}"),
    "an unknown model": _foreign(architecture=json.dumps({**architecture(), "model": "transformer"})),
    "weights of another shape": _other_shape,
}


@pytest.mark.parametrize("in_graph", [False, True], ids=["between graph", "in graph"])
@pytest.mark.parametrize("spoil", (HASH_TELLS | WRONG).values(), ids=HASH_TELLS | WRONG)
def test_a_file_that_is_not_the_one_recorded_is_refused_by_name(
    tmp_path: Path, spoil: Callable[[Path], Any], in_graph: bool
) -> None:
    good, bad = saved(tmp_path, 0), saved(tmp_path, 1)
    spoil(Path(bad.path))
    with pytest.raises(EnsembleError, match=Path(bad.path).name):
        load([good, bad] if in_graph else [bad], in_graph=in_graph)


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_a_file_that_is_the_one_recorded_but_no_model_of_ours_is_refused_by_name(
    tmp_path: Path, spoil: Callable[[Path], Any]
) -> None:
    path = Path(saved(tmp_path, 1).path)
    spoil(path)
    with pytest.raises(EnsembleError, match=path.name):
        load([ModelFile(str(path), sha256_of(path), 1.0, 0)], in_graph=False)


def test_a_checkpoint_is_the_old_one_or_the_whole_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.safetensors"
    checkpoints.save_weights(network(1), path, {"epoch": "1"})
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        checkpoints.save_weights(network(2), path, {"epoch": "2"})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    monkeypatch.undo()
    checkpoints.save_weights(network(2), path, {"epoch": "2"})
    assert checkpoints.load_weights(path)[1] == {"epoch": "2"}


def test_arrays_come_back_as_they_were_saved(tmp_path: Path) -> None:
    path = tmp_path / "predictions.safetensors"
    checkpoints.save_arrays({"validation": ROWS}, path, {"trial": "7"})
    tensors, metadata = checkpoints.load_weights(path, sha256_of(path))
    np.testing.assert_array_equal(tensors["validation"].numpy(), ROWS)
    assert metadata == {"trial": "7"}


# The built-in networks.

MLPS = [
    {"hidden": hidden, "layers": layers, "dropout": dropout, "activation": activation}
    for hidden, layers, dropout, activation in product((1, 9), (0, 1, 3), (0.0, 0.5), ("relu", "gelu", "tanh"))
]
CNNS = [
    {"channels": channels, "blocks": blocks, "hidden": 5, "dropout": dropout}
    for channels, blocks, dropout in product((1, 3), (1, 2, 3, 4), (0.0, 0.5))
]


@pytest.mark.parametrize("settings", MLPS, ids=lambda s: "-".join(map(str, s.values())))
def test_every_mlp_maps_rows_to_finite_logits(settings: dict[str, Any]) -> None:
    logits = network(0, settings=settings)(torch.from_numpy(ROWS))
    assert logits.shape == (17, 4) and torch.isfinite(logits).all()


@pytest.mark.parametrize("image", [(1, 8, 8), (1, 7, 5), (3, 3, 3), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("settings", CNNS, ids=lambda s: "-".join(map(str, s.values())))
def test_every_cnn_maps_rows_of_any_image_to_finite_logits(
    settings: dict[str, Any], image: tuple[int, int, int]
) -> None:
    built = models.build(architecture("cnn", settings, image=image)).eval()
    logits = built(torch.zeros(2, int(np.prod(image))))
    assert logits.shape == (2, 4) and torch.isfinite(logits).all()


def test_rows_are_standardized_inside_the_model() -> None:
    built = models.build(architecture(settings={**MLP, "layers": 0, "dropout": 0.0}, mean=2.0, deviation=4.0))
    linear = built.get_submodule("1")
    rows = torch.from_numpy(ROWS)
    torch.testing.assert_close(built(rows), linear((rows - 2.0) / 4.0))
    torch.testing.assert_close(built(rows.to(torch.uint8)), linear((rows.to(torch.uint8).float() - 2.0) / 4.0))


def test_a_model_that_is_not_built_in_is_refused() -> None:
    with pytest.raises(EnsembleError, match="unknown model 'rnn'"):
        models.build(architecture("mlp") | {"model": "rnn"})
