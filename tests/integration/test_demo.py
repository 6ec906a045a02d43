"""`podium demo` end to end: a shortened run on Fashion-MNIST, and messages for invalid folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.running_service import podium

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")  # where Debian's dataset-fashion-mnist puts it
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
needs_fashion_mnist = pytest.mark.skipif(not FASHION_MNIST.is_dir(), reason="dataset-fashion-mnist is not installed")


@needs_fashion_mnist
@pytest.mark.slow
def test_fashion_mnist_ensemble_exceeds_85_percent_accuracy(tmp_path: Path) -> None:
    figures_file = tmp_path / "figures.json"
    result = podium(
        "demo", "--data", "fashion-mnist", "--data-root", str(FASHION_MNIST), "--trials", "4",
        "--data-dir", str(tmp_path / "data"), "--devices", "cpu:2", "--json", str(figures_file), timeout_s=240,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(figures_file.read_text())
    assert figures == json.loads((tmp_path / "data" / "demo.json").read_text())
    assert figures["test_rows"] == 10_000
    assert figures["trials_total"] == figures["trials_finished"] == 4
    assert figures["in_graph_test_accuracy"] > 0.85
    assert figures["between_graph_test_accuracy"] == figures["in_graph_test_accuracy"]
    assert figures["max_abs_difference_between_modes"] <= 1e-6


def test_missing_folder_exits_with_message_and_status_2(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    result = podium(
        "demo", "--data", "fashion-mnist", "--data-root", str(missing), "--data-dir", str(tmp_path / "data")
    )
    assert result.returncode == 2
    assert f"folder {missing} does not exist" in result.stderr
    assert not (tmp_path / "data").exists()


def test_truncated_file_is_named(tmp_path: Path) -> None:
    root = tmp_path / "idx"
    root.mkdir()
    for name in FILES:
        (root / name).write_bytes(b"\0\0\x08\x01" + (5).to_bytes(4, "big") + b"12345")
    (root / FILES[0]).write_bytes(b"\0\0\x08\x03" + b"\0\0\0\x05" * 3 + b"only a part")
    result = podium("demo", "--data", "fashion-mnist", "--data-root", str(root), "--data-dir", str(tmp_path / "data"))
    assert result.returncode == 2
    assert FILES[0] in result.stderr and "truncated" in result.stderr
    assert not (tmp_path / "data").exists()
