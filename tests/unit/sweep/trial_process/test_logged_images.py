"""Images that a trial logs: conversion, names, limits, and those of scripts."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process import artifacts
from podium.sweep.trial_process.logged_images import ImageLimits, ScriptImages, image_bytes, save
from podium.sweep.values import logged_image_names
from podium.sweep.values.errors import UserCodeError

PNG = b"\x89PNG\r\n\x1a\nrest"


@pytest.fixture
def directory(tmp_path: Path) -> AttemptDirectory:
    made = AttemptDirectory(tmp_path / "1-a")
    made.prepare()
    return made


def _pixels(png: bytes) -> NDArray[np.uint8]:
    """The pixels of a PNG file of this module, read independently of the writer: no filters, one IDAT."""
    width, height, depth, color = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    at, content = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        content += body if kind == b"IDAT" else b""
        at += 12 + length
    channels = {0: 1, 2: 3, 6: 4}[color]
    rows = np.frombuffer(zlib.decompress(content), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (4, 5, 3), (7, 1, 4)])
def test_integer_array_keeps_its_pixels(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    found = _pixels(image_bytes(pixels, "test"))
    assert (found == pixels.reshape(found.shape)).all()


def test_floating_point_pixels_are_between_0_and_1() -> None:
    found = _pixels(image_bytes(np.array([[-1.0, 0.0, 0.5, 1.0, 2.0]], np.float32), "test"))
    assert found.ravel().tolist() == [0, 0, 128, 255, 255]
    assert _pixels(image_bytes(np.array([[True, False]]), "test")).ravel().tolist() == [255, 0]


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros(3), "shape"),
        (np.zeros((2, 2, 2)), "shape"),
        (np.zeros((0, 3)), "shape"),
        (np.full((2, 2), np.nan), "NaN"),
        (np.array([["a"]]), "pixels are numbers"),
        (np.zeros((9000, 1)), "at most"),
        (b"<svg></svg>", "supported kind"),
        (object(), "shape"),
    ],
)
def test_what_is_no_image_is_refused(directory: AttemptDirectory, image: Any, words: str) -> None:
    with pytest.raises(UserCodeError, match=words):
        save(directory, "x", image, 0)
    assert not list(directory.root.glob(".image*"))


def test_file_is_named_by_name_and_step_and_replaced(directory: AttemptDirectory) -> None:
    path = save(directory, "val/samples", PNG, 3)
    assert path.relative_to(directory.root).as_posix() == "artifacts/_images/val~2Fsamples.3.png"
    save(directory, "val/samples", PNG + b"more", 3)
    assert path.read_bytes() == PNG + b"more"
    source = directory.work / "photo.jpeg"
    source.write_bytes(b"\xff\xd8\xff\xe0")
    assert save(directory, "photo", source, 0).name == "photo.0.jpg"


@pytest.mark.parametrize(("name", "step"), [("", 0), ("a\nb", 0), ("x" * 101, 0), ("ö" * 40, 0), ("x", -1), ("x", 0.5)])
def test_invalid_name_or_step_is_refused(directory: AttemptDirectory, name: str, step: Any) -> None:
    with pytest.raises(UserCodeError, match=r"name|step"):
        save(directory, name, PNG, step)


def test_limits_name_what_to_do(directory: AttemptDirectory) -> None:
    limits = ImageLimits(files=2, image_bytes=20, bytes=30)
    save(directory, "x", PNG, 0, limits=limits)
    with pytest.raises(UserCodeError, match="make it smaller"):
        save(directory, "x", PNG + b"." * 20, 1, limits=limits)
    with pytest.raises(UserCodeError, match="log fewer or smaller"):
        save(directory, "x", PNG + b"." * 8, 1, limits=ImageLimits(bytes=24))
    save(directory, "x", PNG, 1, limits=limits)
    save(directory, "x", PNG, 1, limits=limits)  # replaced
    with pytest.raises(UserCodeError, match="at most 2 images"):
        save(directory, "x", PNG, 2, limits=limits)


def test_images_do_not_count_as_artifacts(directory: AttemptDirectory) -> None:
    save(directory, "x", PNG, 0)
    source = directory.work / "a.txt"
    source.write_text("a")
    assert artifacts.save(directory, source, limits=artifacts.ArtifactLimits(files=1)).name == "a.txt"


def test_images_of_a_script_are_logged_once_and_again_when_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logged: list[tuple[str, int]] = []
    images = ScriptImages(tmp_path, lambda name, path, step: logged.append((name, step)))
    images.read_new()
    folder = tmp_path / logged_image_names.FOLDER
    folder.mkdir()
    (folder / "val~2Fx.7.png").write_bytes(PNG)
    (folder / "y.1.png.99.tmp").write_bytes(PNG)  # not yet complete
    (folder / "no-step.png").write_bytes(PNG)
    images.read_new()
    images.read_new()
    assert logged == [("val/x", 7)]
    (folder / "val~2Fx.7.png").write_bytes(PNG + b"changed")
    images.read_new()
    assert logged == [("val/x", 7)] * 2
    assert capsys.readouterr().err.count("NAME.STEP.png") == 1
    kept: list[Path] = []
    artifacts.collect(tmp_path, kept.append)
    assert kept == []


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=20),
       st.integers(0, 2**63 - 1))  # fmt: skip
def test_name_and_step_are_read_back(name: str, step: int) -> None:
    file = logged_image_names.file_name(name, step, "png")
    if len(file) < logged_image_names.MAX_ENCODED:
        assert logged_image_names.parse(file) == logged_image_names.LoggedImage(name, step)
        assert "/" not in file
