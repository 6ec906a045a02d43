"""Seeded, stratified splits and cross-validation folds; trial processes and ensemble host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPLITS = ("train", "validation", "calibration", "test")

Rows = NDArray[np.int64]


def strata(targets: NDArray[Any]) -> Rows:
    """The stratum of each row: the class (rows,); in regression, (rows, outputs), all rows are one stratum."""
    return targets if targets.ndim == 1 else np.zeros(len(targets), dtype=np.int64)


def split_rows(strata: Rows, official_test: Rows, *, shares: Sequence[float], seed: int) -> dict[str, Rows]:
    """Row numbers of each split, ascending and stratified.

    An official test set is always the test split; the other fractions then apply to the remaining rows.
    """
    generator = np.random.default_rng(seed)
    wanted = [*shares[:3], 0.0] if len(official_test) else list(shares)
    free = np.setdiff1d(np.arange(len(strata)), official_test)
    bounds = np.cumsum(wanted)[:-1] / sum(wanted)
    parts: list[list[Rows]] = [[] for _ in SPLITS]
    for members in _each_stratum(strata, free):
        rows = generator.permutation(members)
        cuts = np.round(bounds * len(rows)).astype(int)
        for part, piece in zip(parts, np.split(rows, cuts), strict=True):
            part.append(piece)
    result = {name: np.sort(np.concatenate(part)) for name, part in zip(SPLITS, parts, strict=True)}
    if len(official_test):
        result["test"] = official_test
    return result


def fold_rows(strata: Rows, splits: Mapping[str, Rows], *, folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Stratified k-fold over the rows of train and validation: (training rows, validation rows) of each fold.

    Ascending. Each row is a validation row in one fold and a training row in all others.
    """
    generator = np.random.default_rng([seed, folds])
    pool = np.sort(np.concatenate([splits["train"], splits["validation"]]))
    dealt = [generator.permutation(members) for members in _each_stratum(strata, pool)]
    shuffled = np.concatenate(dealt)
    held_out = [np.sort(shuffled[fold::folds]) for fold in range(folds)]
    return [(np.setdiff1d(pool, rows, assume_unique=True), rows) for rows in held_out]


def _each_stratum(strata: Rows, rows: Rows) -> Iterator[Rows]:
    """The rows of each stratum, ascending, with a single sort."""
    found = strata[rows]
    order = np.argsort(found, kind="stable")
    _, first = np.unique(found[order], return_index=True)
    yield from np.split(rows[order], first[1:])
